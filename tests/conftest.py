"""Lets tests import what they share, `from strategies import worlds`, and sets no time limits."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# A deadline is a timing assertion, and machines are noisy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
