"""What all tests have in common: modules to share, no time limits, and the same noise in every run.

A test of noise errs at some rate, however low, and there are thousands: were they drawn anew each
time, the suite would now and then fail by chance, and teach everybody to run it again. So each test
has a stream of its own, which follows from its name, and what Hypothesis draws follows from the
test. `--fresh` draws what no run has seen before.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator
from unittest import mock

import pytest
from hypothesis import settings
from streams import Stream

from dpframe.mechanisms import Source


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fresh", action="store_true", help="draw noise and examples that no run had before"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: others would wait for it, if it came last")
    # A deadline is a timing assertion, and machines are noisy.
    settings.register_profile(
        "dpframe", deadline=None, derandomize=not config.getoption("--fresh"), database=None
    )
    settings.load_profile("dpframe")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests come first, where there are others left to run beside them."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Sources that a test does not replace itself draw on the stream of that test."""
    if item.config.getoption("--fresh") or item.get_closest_marker("operating_system_noise"):
        return (yield)
    stream = Stream(zlib.crc32(item.nodeid.encode()))
    with mock.patch.object(Source, "take", lambda self, count: stream.take(count)):
        return (yield)
