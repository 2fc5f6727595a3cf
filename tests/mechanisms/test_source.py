"""The door for randomness."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

from dpframe.mechanisms import Source, source
from dpframe.mechanisms.source import Pool

pytestmark = pytest.mark.operating_system_noise


@pytest.mark.parametrize("count", [0, 1, 8, 256, 257, 4096])
def test_take_returns_as_many_bytes_as_asked(count):
    assert len(Source().take(count)) == count


@pytest.mark.parametrize("count", [1, 7, 8, 9, 45, 64, 1000])
def test_bits_stay_below_their_power_of_two(count):
    assert all(0 <= Source().bits(count) < 1 << count for _ in range(50))


def test_no_bits_are_the_integer_zero():
    assert Source().bits(0) == 0
    assert Source().words(0).size == 0


def test_every_bit_of_a_word_is_fair(stream):
    words = stream(1).words(20_000)
    ones = np.array([np.count_nonzero(words >> np.uint64(i) & np.uint64(1)) for i in range(64)])
    assert np.all(np.abs(ones - 10_000) < 5 * np.sqrt(5_000))


def test_nobody_can_pass_a_seed():
    assert not inspect.signature(Source).parameters


def test_a_pool_hands_out_its_parents_bits_once_each(stream):
    whole = int.from_bytes(stream(2).take(64) + stream(2).take(0), "little")
    pool = Pool(stream(2))
    widths = [1, 64, 45, 7, 64, 200, 131]
    assert sum(widths) == 512
    joined, at = 0, 0
    for width in widths:
        joined |= pool.bits(width) << at
        at += width
    assert joined == whole


def test_a_pool_serves_requests_larger_than_its_refill(stream):
    pool = Pool(stream(3))
    assert len(pool.take(1000)) == 1000
    assert pool.words(100).size == 100


def test_a_python_without_ssl_still_draws(monkeypatch):
    monkeypatch.setitem(sys.modules, "ssl", None)
    source._bulk.cache_clear()
    try:
        assert len(Source().take(10_000)) == 10_000
    finally:
        source._bulk.cache_clear()


FORK = """
import os
from dpframe.mechanisms import DiscreteLaplace, Source
source = Source()
law = DiscreteLaplace(10**6)
law.draw(1000, source), law.draw(2, source), source.take(16), source.take(4096)
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        break
    os.waitpid(pid, 0)
line = [source.take(16).hex(), source.take(4096)[:16].hex(), law.draw(9, source).tolist()]
os.write(1, (repr(line) + chr(10)).encode())
if pid == 0:
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="the platform cannot fork")
def test_forked_processes_share_no_randomness():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, check=True
    )
    lines = [eval(line) for line in done.stdout.splitlines()]
    assert len(lines) == 4
    for part in range(3):
        assert len({str(line[part]) for line in lines}) == 4


def test_no_bytes_repeat_between_requests():
    for size in (16, 4096):
        assert len({Source().take(size) for _ in range(200)}) == 200
