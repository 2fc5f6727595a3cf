"""Each aggregate as exact integer parts, and how to finish from noisy ones."""
