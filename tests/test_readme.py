"""Every Python block of the README runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs(block: str) -> None:
    space: dict[str, object] = {}
    exec(compile(block, str(README), "exec"), space)  # our own file, not a user's
    solution = space["solution"]
    assert solution.converged  # type: ignore[attr-defined]
