"""What every peer's script does: read the job, ask, and print the answers.

The scripts run in environments of their own, so nothing here needs more than Python and numpy. A
job is a JSON file: the table, what is public about it, the questions, how often to ask. Each
script prints one line of JSON per question, epsilon and way of asking.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

Answers = Iterable[list[float]]
Ways = dict[str, Callable[[], Answers]]
"""Ways to ask one question: how a way is called, and what gives its answers, one after another."""


class NotOfferedError(Exception):
    """The tool has nothing for a question; the message says so."""


class Job:
    """The table, what is public about it, and what to ask."""

    def __init__(self, path: str) -> None:
        with open(path) as file:
            self.given: dict[str, Any] = json.load(file)
        with np.load(self.given["table"]) as stored:
            self.table: dict[str, Any] = {name: stored[name] for name in stored.files}
        self.public: dict[str, Any] = self.given["public"]
        self.releases: int = self.given["releases"]
        self.delta: float = self.given["delta"]

    def run(self, ways_of: Callable[[str, float], Ways]) -> None:
        """Ask every question at every epsilon, in every way, and print what comes."""
        for question in self.given["questions"]:
            for epsilon in self.given["epsilons"]:
                for record in self._asked(question, epsilon, ways_of):
                    print(json.dumps({"question": question, "epsilon": epsilon, **record}))
                    sys.stdout.flush()

    def _asked(
        self, question: str, epsilon: float, ways_of: Callable[[str, float], Ways]
    ) -> Iterator[dict[str, Any]]:
        try:
            ways = ways_of(question, epsilon)
        except NotOfferedError as error:
            yield {"missing": str(error) or "not offered"}
            return
        except BaseException as error:
            yield {"failed": _short(error)}
            return
        for name, ask in ways.items():
            try:
                answers = enough(ask(), self.releases, self.given["seconds"])
            except NotOfferedError as error:
                yield {"missing": str(error) or "not offered"}
            except BaseException as error:  # some peers panic outside of Exception
                yield {"failed": _short(error)}
            else:
                yield {"way": name, "answers": answers}


def enough(answers: Answers, releases: int, seconds: float) -> list[list[float]]:
    """As many answers as were asked for, fewer if the time is up: then at least five.

    Planning and what comes before the first answer do not count.
    """
    taken: list[list[float]] = []
    start = 0.0
    for answer in answers:
        start = start or time.perf_counter()
        taken.append([float(value) for value in answer])
        late = time.perf_counter() - start > seconds
        if len(taken) >= releases or (late and len(taken) >= 5):
            break
    return taken


def _short(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        raise error
    with suppress(OSError):
        traceback.print_exception(error, file=sys.stderr)
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"


def forever(ask: Callable[[], list[float]]) -> Callable[[], Answers]:
    """Ask again and again; whoever takes the answers decides when to stop."""

    def answers() -> Iterator[list[float]]:
        while True:
            yield ask()

    return answers
