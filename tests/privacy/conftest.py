"""Lets the tests here import the harness: `from fuzz import Harness`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
