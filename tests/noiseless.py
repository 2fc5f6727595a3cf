"""No noise, for tests of what it is added to. The library has no such switch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpframe.aggregates import cells
from dpframe.mechanisms import Law, ModeSelection, QuantileSelection
from dpframe.mechanisms.quantiles import _Range


def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw is 0, of the best positions the middle one is chosen, and the largest count.

    What has rows is there, however few they are.
    """
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    monkeypatch.setattr(QuantileSelection, "_one", _best)
    monkeypatch.setattr(cells, "_limits", lambda chances, *_: np.zeros_like(chances))
    monkeypatch.setattr(ModeSelection, "choose", lambda self, counts, source: counts.argmax(axis=1))


def _best(self: Any, at: _Range, far: Any, source: Any) -> np.ndarray:
    first, end = at.within(0)
    middle: np.ndarray = (first + end - 1) // 2
    return middle
