"""The scaling study in miniature, and its page and figure from stored numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from benchmarks import scaling
from benchmarks.scaling import Run, Size

from pibls.assembly import streaming


def invented_run(size: Size) -> Run:
    """Return a run with time N²n and memory Nn where the matrix is stored."""
    entries = 1e-6 * size.nodes * size.points
    stored = size.mode == "held" or size.study == "width"
    return {
        **asdict(size), "seconds": 1e-3 * size.nodes * entries, "clock_seconds": 1.0, "max_error": 1e-9,
        "peak_mb": 20.0 * entries if stored else 100.0, "matrix_mb": 8.0 * entries,
        "steps": 1, "load": 0.1, "machine": {"processor": "a processor", "cores": 2},
    }  # fmt: skip


def test_sizes_of_the_study() -> None:
    found = scaling.sizes()
    assert len({scaling.key(asdict(s)) for s in found}) == len(found)
    assert max(s.nodes for s in found if s.threads == 1) == 8000
    assert Size("points", 500, 1_000_000) in found, (
        "a million points, for which the library chooses streaming"
    )
    assert streaming.MAX_STORED_ENTRIES < 500 * 1_000_000
    for size in found:
        if size.study == "width":
            assert size.nodes * (size.points + 1000) < streaming.MAX_STORED_ENTRIES


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read from /proc: Linux only"
)
def test_stored_and_streamed_solves_of_small_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MAX_STORED_ENTRIES", streaming.MAX_STORED_ENTRIES)
    stored, streamed = (scaling.measure(Size("points", 100, 3000, mode)) for mode in ("held", "streamed"))
    assert stored["max_error"] < 1e-5
    assert streamed["max_error"] < 1e-5
    assert stored["seconds"] > 0


def test_page_and_figure_from_stored_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "scaling.json"
    for size in scaling.sizes():
        scaling.add(invented_run(size), path)
        scaling.add(invented_run(size), path)
    runs = scaling.stored(path)
    assert len(runs) == len(scaling.sizes())
    found = scaling.exponents(runs)
    assert found["time of width"] == pytest.approx(3.0)
    assert found["memory of width"] == pytest.approx(2.0)
    assert found["time of points, streamed"] == pytest.approx(1.0)
    assert found["memory of points, streamed"] == pytest.approx(0.0, abs=1e-9)
    page = scaling.page(runs)
    assert "time ~ N^3.00" in page
    assert "1,000,000" in page
    scaling.draw(runs, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_page_of_an_incomplete_study() -> None:
    runs = [invented_run(s) for s in scaling.sizes() if s.threads == 1 and s.nodes <= 500]
    page = scaling.page(runs)
    assert "not measured yet" in page
    assert "nan" not in page
