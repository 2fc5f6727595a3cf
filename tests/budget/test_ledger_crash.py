"""Killed at any instant, a ledger opens, verifies, and shows at least what was released.

`DPFRAME_CRASHES=500 pytest tests/budget/test_ledger_crash.py` kills 500 times.
"""

import json
import os
import subprocess
import sys

CRASHES = int(os.environ.get("DPFRAME_CRASHES", "60"))

# One process forks queries in a loop and kills them: starting Python each time would be slow,
# and would put most kills into its start.
KILLER = """
import json, os, random, signal, sys, time
from fractions import Fraction
from pathlib import Path
from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss

folder, crashes, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
BUDGET = Budget(epsilon=10**6, delta="1e-6")


def query_loop(path, answers):
    ledger = Ledger.open(path, BUDGET)
    n = 0
    while True:
        n += 1
        loss = Loss.laplace(scale=Fraction(10 + n % 7), l1_sensitivity=1)
        charge = ledger.charge(loss, asked=f"query {n}", mechanism="laplace")
        # The answer leaves the process here: from now on it was released.
        os.write(answers, f"{charge.entry} {loss.epsilon}\\n".encode())
        charge.store({f"part {n % 5}": bytes(100)})


released, kills_in_mid_charge, longest = {}, 0, 0
for crash in range(crashes):
    path = folder / f"{crash // 10}.ledger"
    if crash % 10 == 0:
        released = {}
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        query_loop(path, write)
    os.close(write)
    time.sleep(chance.random() ** 2 * 0.08)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kills_in_mid_charge += os.path.exists(f"{path}-journal")
    with open(read) as answers:
        for line in answers.read().splitlines():
            entry, epsilon = line.split()
            released[int(entry)] = Fraction(epsilon)
    if not path.exists():
        assert not released, "released, but there is no ledger"
        continue
    with Ledger.open(path, BUDGET) as ledger:
        found = ledger.verify()
        assert ledger.spent.epsilon >= sum(released.values()), "shows less than was released"
        charged = {
            entry.number: Loss.from_json(json.loads(entry.body)["loss"]).epsilon
            for entry in ledger._storage.walk()
            if entry.kind == "charge"
        }
        assert released.items() <= charged.items(), "a released charge is lost"
        longest = max(longest, found.entries)
print(json.dumps({"mid": kills_in_mid_charge, "longest": longest}))
"""


def test_killed_at_random_instants_a_ledger_shows_at_least_what_was_released(tmp_path):
    seed = int.from_bytes(os.urandom(4))
    run = subprocess.run(
        [sys.executable, "-c", KILLER, tmp_path, str(CRASHES), str(seed)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, f"seed {seed}\n{run.stderr}"
    seen = json.loads(run.stdout)
    assert seen["longest"] > 3
    if CRASHES >= 60:
        assert seen["mid"] > 0, "no kill met a charge half-way: the test has lost its point"
