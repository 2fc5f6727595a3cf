"""Several processes on one file never overspend together, and lose no charge."""

import json
import subprocess
import sys
from fractions import Fraction

import pytest

from dpframe.budget.budget import Budget
from dpframe.budget.filters import Filter
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.budget.spent import Spent

# Forked from one process: eight starts of Python would take most of the time.
HAMMER = """
import json, os, random, sys
from fractions import Fraction
from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import BudgetError

path, budget = sys.argv[1], Budget.from_json(sys.argv[2])
pipes = []
for process in range(8):
    read, write = os.pipe()
    pipes.append(read)
    if os.fork() == 0:
        chance, admitted, refused = random.Random(process), [], 0
        with Ledger.open(path, budget, timeout=60) as ledger:
            own = ledger.for_analyst(f"analyst {process}", Budget(epsilon=budget.epsilon / 4))
            while refused < 5:
                epsilon = Fraction(chance.randint(1, 60), 1000)
                loss = Loss.laplace(scale=1 / epsilon, l1_sensitivity=1)
                try:
                    charge = own.charge(loss, asked="q", mechanism="laplace")
                    admitted.append([charge.entry, loss.to_json()])
                    if chance.random() < 0.3:
                        charge.store({f"from {process}": bytes(100)})
                except BudgetError:
                    refused += 1
        os.write(write, json.dumps(admitted).encode())
        os._exit(0)
    os.close(write)
reports = [json.loads(open(pipe).read()) for pipe in pipes]
for _ in pipes:
    assert os.wait()[1] == 0
print(json.dumps(reports))
"""


@pytest.mark.parametrize("budget", [Budget(epsilon=2), Budget(epsilon=1, delta="1e-6")], ids=str)
def test_eight_processes_never_overspend_and_no_charge_is_lost(tmp_path, budget):
    path = tmp_path / "visits.ledger"
    run = subprocess.run(
        [sys.executable, "-c", HAMMER, path, budget.to_json()], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    reports = json.loads(run.stdout)
    admitted = {entry: Loss.from_json(text) for report in reports for entry, text in report}
    assert len(admitted) == sum(map(len, reports))  # no two processes share an entry

    with Ledger.open(path, budget) as ledger:
        assert ledger.verify().charges == len(admitted)
        recorded = {
            entry.number: Loss.from_json(json.loads(entry.body)["loss"])
            for entry in ledger._storage.walk()
            if entry.kind == "charge"
        }
        assert recorded == admitted
        account, spent = Filter.for_budget(budget), Spent()
        for _, loss in sorted(admitted.items()):
            assert account.admits(spent, loss)
            spent = account.after(spent, loss)
        assert spent == ledger.spent
        assert ledger.room.epsilon < Fraction(60, 1000)  # they went on until it was spent
    for report in reports:
        own = sum(Loss.from_json(text).epsilon for _, text in report)
        assert own <= budget.epsilon / 4
