"""What several files of tests ask for by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.saved import small


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small solution on disk."""
    path: Path = small().save(tmp_path / "small.pibls")
    return path
