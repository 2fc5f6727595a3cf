"""Lets tests import what they share: `from strategies import worlds`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
