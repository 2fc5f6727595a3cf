"""Every example runs as it stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_a_script_runs_and_leaves_nothing_behind(script, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.name)
@pytest.mark.filterwarnings("default")  # of Jupyter, not of dpframe: the kernel is another process
def test_a_notebook_runs_and_shows_its_releases(notebook, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [
        output.data.get("text/html", "")
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    assert any("<table" in html and "±" in html for html in shown)
    assert list(tmp_path.iterdir()) == []


def test_there_is_a_quickstart_in_both_forms():
    assert {path.name for path in EXAMPLES.glob("01_quickstart.*")} == {
        "01_quickstart.py",
        "01_quickstart.ipynb",
    }
