"""The command `dpframe`: a demo, and a look into a ledger."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from dpframe.budget import ledger_commands
from dpframe.budget.budget import Budget
from dpframe.errors import DPFrameError, ParameterError

_FAILED, _MISUSED, _INTERRUPTED = 1, 2, 130
_MOST_ROWS = 5_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and give its exit status.

    >>> main(["ledger", "show", "no-such.ledger"])
    1
    """
    try:
        return _guarded(arguments)
    except KeyboardInterrupt:  # an engine and Python may each raise it for one Ctrl-C
        return _INTERRUPTED


def _guarded(arguments: Sequence[str] | None) -> int:
    with _interrupts() as noted:
        try:
            if sys.stdout is None:  # it was closed by whoever started us
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            status = _run(_parser().parse_args(arguments))
            sys.stdout.flush()
            return status
        except KeyboardInterrupt:
            return _interrupted()
        except BrokenPipeError:
            # The reader has seen enough, as `head` does. Python would complain once more when it
            # flushes at exit, hence a stdout that takes everything.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except Exception as error:
            if noted:
                return _interrupted()
            if isinstance(
                error, DPFrameError | OSError
            ):  # OSError: a full disk, no place for files
                print(f"dpframe: {error}", file=sys.stderr)
                return _FAILED
            raise


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return _INTERRUPTED


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Note every Ctrl-C: an engine may turn it into an error of its own."""
    noted: list[int] = []

    def note(signum: int, frame: object) -> None:
        noted.append(signum)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield noted  # only the main thread may say what a signal does
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _run(arguments: argparse.Namespace) -> int:
    match arguments.command, getattr(arguments, "look", None):
        case "demo", _:
            from dpframe.demo import run

            return run(
                rows=arguments.rows,
                budget=arguments.budget,
                engine=arguments.engine,
                ledger=arguments.ledger,
            )
        case "ledger", "show":
            return _say(*ledger_commands.show(arguments.path))
        case "ledger", "verify":
            return _say(*ledger_commands.verify(arguments.path, arguments.head))
    _parser().print_help(sys.stderr)
    return _MISUSED


def _say(text: str, status: int) -> int:
    if status:
        print(f"dpframe: {text}", file=sys.stderr)
    else:
        print(text)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpframe",
        description="Differentially private SQL over dataframes: noisy answers with error bars, "
        "on one budget that nobody can overspend.",
    )
    parser.add_argument("--version", action="version", version=f"dpframe {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    demo = commands.add_parser(
        "demo",
        help="ask twelve questions about a made-up hospital",
        description="Make up a hospital, ask twelve questions in SQL, and show the true value, the "
        "noisy value and its error bar side by side while the budget goes down.",
    )
    demo.add_argument(
        "--rows", type=_rows, default=200_000, help="visits to make up (default: 200000)"
    )
    demo.add_argument(
        "--budget",
        type=_budget,
        default="1",
        metavar="EPSILON[,DELTA]",
        help="what all answers may lose together (default: 1)",
    )
    demo.add_argument(
        "--engine",
        choices=("duckdb", "polars"),
        default="duckdb",
        help="what computes on the rows (default: duckdb)",
    )
    demo.add_argument("--ledger", metavar="PATH", help="keep the record of what was spent here")
    ledger = commands.add_parser(
        "ledger",
        help="look into the record of what was spent",
        description="Look into the record of what was spent. Nothing is changed.",
    )
    looks = ledger.add_subparsers(dest="look", metavar="show|verify", required=True)
    show = looks.add_parser("show", help="list the charges, and what is left")
    verify = looks.add_parser("verify", help="check every entry: an edited ledger is found out")
    for look in (show, verify):
        look.add_argument("path", help="the ledger's file")
    verify.add_argument("--head", help="a head noted earlier, which must still be on the chain")
    return parser


def _version() -> str:
    try:
        return version("dpframe")
    except PackageNotFoundError:
        return "(not installed)"


def _rows(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= _MOST_ROWS:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {_MOST_ROWS}")


def _budget(text: str) -> Budget:
    epsilon, comma, delta = text.partition(",")
    try:
        return Budget(epsilon=epsilon, delta=delta if comma else None)
    except ParameterError as error:
        problem = f"{error.what}; {error.why}"
    raise argparse.ArgumentTypeError(f"{text!r}: {problem} (for example 1, or 1,1e-6)")
