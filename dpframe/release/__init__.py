"""Noisy parts, finished into columns with error bars."""
