"""Every Python block of the README and the documentation runs; every TOML block is a valid problem."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pibls.io.problem_file import parse_problem

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
PAGES = [p for p in sorted((ROOT / "docs").rglob("*.md")) if "```python\n" in p.read_text(encoding="utf-8")]
FILES = [
    (page.relative_to(ROOT).as_posix(), text)
    for page in [README, *sorted((ROOT / "docs").rglob("*.md"))]
    for text in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
]


def run(text: str, page: Path, namespace: dict[str, Any]) -> None:
    exec(compile(text, str(page), "exec"), namespace)  # a file of this repository, not user input


def test_blocks_are_found() -> None:
    assert len(BLOCKS) >= 3
    assert len(PAGES) >= 8
    assert len(FILES) >= 2


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_readme_block_runs(block: str) -> None:
    namespace: dict[str, Any] = {}
    run(block, README, namespace)
    assert namespace["solution"].converged


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the blocks of a page in order: later blocks may use names of earlier ones."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for match in re.finditer(r"```python\n(.*?)```", text, flags=re.DOTALL):
        # Blank lines are prepended so that a traceback shows the line of the page.
        run("\n" * (text[: match.start(1)].count("\n")) + match[1], page, namespace)
        if "solution" in namespace:
            assert namespace["solution"].converged
    plt.close("all")


@pytest.mark.parametrize(("page", "text"), FILES, ids=range(len(FILES)))
def test_problem_file_is_read(page: str, text: str) -> None:
    assert parse_problem(text, file=page).problem.unknowns
