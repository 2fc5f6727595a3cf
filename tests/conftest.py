"""Tests share code through `tests/strategies.py` and the harness in `tests/privacy/fuzz.py`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE / "privacy"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
