"""What may be spent in all, stated in one of three definitions of privacy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

from dpframe.budget.exact import Number, positive, readable
from dpframe.errors import ParameterError


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """The most that all releases together may lose.

    `Budget(epsilon=)` is pure, `Budget(rho=)` zero-concentrated, and `Budget(epsilon=, delta=)`
    approximate differential privacy. Numbers mean what they look like: 0.1 is one tenth.

    >>> Budget(epsilon=1, delta=1e-6)
    <Budget epsilon 1, delta 1e-6>
    >>> Budget(epsilon=0.1).epsilon
    Fraction(1, 10)
    >>> Budget(delta=1e-6)
    Traceback (most recent call last):
    ...
    dpframe.errors.ParameterError: a budget of delta 1e-06
      why: it is either an epsilon or a rho, and delta goes with epsilon only
      fix: Budget(epsilon=1), Budget(rho=0.1) or Budget(epsilon=1, delta=1e-6)
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
    ) -> None:
        fields = {"epsilon": epsilon, "rho": rho, "delta": delta}
        for name, value in fields.items():
            object.__setattr__(self, name, None if value is None else positive(value, name))
        if (self.epsilon is None) == (self.rho is None) or (
            self.rho is not None and self.delta is not None
        ):
            given = [f"{name} {value}" for name, value in fields.items() if value is not None]
            raise ParameterError(
                f"a budget of {' and '.join(given) or 'nothing'}",
                why="it is either an epsilon or a rho, and delta goes with epsilon only",
                fix="Budget(epsilon=1), Budget(rho=0.1) or Budget(epsilon=1, delta=1e-6)",
            )
        if self.delta is not None and self.delta >= 1:
            raise ParameterError(
                f"delta is {delta}",
                why="it is the chance that the promise fails; at 1 nothing is promised",
                fix="delta=1e-6, far below 1 over the number of units",
            )

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho {readable(self.rho)}"
        assert self.epsilon is not None  # by the constructor
        text = f"epsilon {readable(self.epsilon)}"
        return text if self.delta is None else f"{text}, delta {readable(self.delta)}"

    def __repr__(self) -> str:
        return f"<Budget {self}>"

    def to_json(self) -> str:
        """Write the budget as exact text.

        >>> Budget(epsilon="1/3").to_json()
        '{"epsilon":"1/3"}'
        """
        fields = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        known = {name: str(value) for name, value in fields.items() if value is not None}
        return json.dumps(known, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Budget:
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or not fields.keys() <= {"epsilon", "rho", "delta"}:
            raise ValueError("not the text of a budget")
        return cls(**fields)
