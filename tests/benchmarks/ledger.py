"""What a charge costs: beyond the syncs, after many entries, and with many processes.

Run `python tests/benchmarks/ledger.py [--entries 100000]`. A charge on disk is timed with and
without syncs (`synchronous = OFF`, which the ledger itself never uses): the second is what charging
and accounting cost beyond the disk. CPU times hold on a busy machine too.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from dpframe.budget.account import Account
from dpframe.budget.budget import Budget
from dpframe.budget.chain import Entry
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.budget.spent import Spent

BUDGET = Budget(epsilon=10**6, delta="1e-6")


def losses(kind: str):
    """Give losses that differ each time, so that nothing is answered from a cache."""
    step = 0
    while True:
        step += 1
        size = Fraction(10_000 + step, 7)
        if kind == "gaussian":
            yield Loss.gaussian(sigma=size, l2_squared_sensitivity=3)
        else:
            yield Loss.laplace(scale=size, l1_sensitivity=3)


def charge_times(ledger: Ledger, kind: str, times: int = 300) -> list[tuple[float, float]]:
    """Time charges, in milliseconds: on the clock, and on the CPU."""
    found = []
    for _, loss in zip(range(times), losses(kind), strict=False):
        clock, cpu = time.perf_counter(), time.process_time()
        ledger.charge(loss, asked="SELECT COUNT(*) FROM visits", mechanism=kind, scale="1")
        found.append((1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - cpu)))
    return found


def without_syncs(ledger: Ledger) -> Ledger:
    """Switch the syncs off, to see what is left."""
    ledger._storage._use().execute("PRAGMA synchronous = OFF")
    return ledger


def fill(ledger: Ledger, entries: int) -> None:
    """Write many charges in one transaction, which the ledger itself never does."""
    loss = Loss.laplace(scale=Fraction(1000), l1_sensitivity=1)
    with ledger._storage.transaction(write=True):
        head = ledger._storage.head()
        account = Account(ledger.filter, Spent.from_json(head.spent))
        for _ in range(entries):
            account = account.after(loss)
            body = {
                "when": "2026-01-01T00:00:00.000000+00:00",
                "asked": "SELECT COUNT(*) FROM visits",
                "mechanism": "laplace",
                "scale": "1000",
                "loss": loss.to_json(),
                "remaining": "",
                "own": None,
            }
            text = json.dumps(body, sort_keys=True, separators=(",", ":"))
            head = Entry.after(head, "charge", "", text, account.spent.to_json())
            ledger._storage.append(head)


def charges_per_second(path: Path, processes: int, seconds: float = 3.0) -> float:
    """Let processes charge one file at once."""
    pipes = []
    for _ in range(processes):
        read, write = os.pipe()
        pipes.append(read)
        if os.fork() == 0:
            done, stream, ledger = 0, losses("gaussian"), Ledger.open(path, BUDGET, timeout=60)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                ledger.charge(next(stream), asked="q", mechanism="gaussian")
                done += 1
            os.write(write, str(done).encode())
            os._exit(0)
        os.close(write)
    total = 0
    for pipe in pipes:
        with open(pipe) as report:
            total += int(report.read())
        os.wait()
    return total / seconds


def row(name: str, times: list[tuple[float, float]]) -> None:
    """Print the median and the 99th percentile on the clock, and the median on the CPU."""
    clock, cpu = zip(*times, strict=True)
    high = sorted(clock)[-len(clock) // 100]
    print(f"{name:<50}{statistics.median(clock):8.2f} {high:8.2f} {statistics.median(cpu):8.2f} ms")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    entries = parser.parse_args().entries
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':<50}{'median':>8} {'99%':>8} {'CPU':>8}")
        for kind in ("gaussian", "laplace"):
            with Ledger.open(Path(folder, f"{kind}.ledger"), BUDGET) as ledger:
                row(f"charge, {kind}, synced", charge_times(ledger, kind))
                row(f"charge, {kind}, beyond the syncs", charge_times(without_syncs(ledger), kind))
        with Ledger.open(Path(folder, "long.ledger"), BUDGET) as ledger:
            fill(ledger, entries)
            after = f"after {entries:,} entries"
            row(f"charge, gaussian, synced, {after}", charge_times(ledger, "gaussian"))
            times = charge_times(without_syncs(ledger), "gaussian")
            row(f"charge, beyond the syncs, {after}", times)
        start = time.perf_counter()
        with Ledger.open(Path(folder, "long.ledger"), BUDGET) as ledger:
            print(f"{'open, ' + after:<50}{1000 * (time.perf_counter() - start):8.2f} ms")
            start = time.perf_counter()
            ledger.verify()
            print(f"{'verify, ' + after:<50}{1000 * (time.perf_counter() - start):8.0f} ms")
        for processes in (1, 2, 8):
            rate = charges_per_second(Path(folder, f"{processes}.ledger"), processes)
            print(f"{f'{processes} process(es) on one file':<50}{rate:8.0f} charges/s")


if __name__ == "__main__":
    main()
