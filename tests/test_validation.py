"""The registry of problems with references, its runner and its comparison, and a short list of solves."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import validation
from validation import compare, runner
from validation.__main__ import main
from validation.measure import Record, solved

import pibls

QUICK = {
    "textbook": (
        "cooling_fin", "layered_wall", "bratu", "van_der_pol", "decay_chain", "mixed_plate", "steel_rod",
    ),
    "fresh": ("hydrogen_3s", "gas_in_sandstone"),
    "gallery": ("l_shape", "kirsch_plate"),
    "calibration": ("fast waves", "Stokes"),
}  # fmt: skip
"""Problems of several kinds that are solved in fractions of a second."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("of_set", "name"), [(s, n) for s, names in QUICK.items() for n in names])
def test_quick_problem_is_solved(of_set: str, name: str, seed: int) -> None:
    """The error is at most tol, and at most the estimate."""
    (entry,) = validation.entries([of_set], [name])
    record = validation.measure(entry, seed)
    assert record["converged"], record["message"]
    assert record["error"] <= record["tol"]
    assert not record["estimate_below"]


def test_sets_have_problems_with_distinct_names() -> None:
    counts = {name: len(validation.entries([name])) for name in validation.SETS}
    assert counts["textbook"] == 114
    assert counts["fresh"] == 72
    assert min(counts.values()) >= 10
    for name in validation.SETS:
        names = [e.name for e in validation.entries([name])]
        assert len(names) == len(set(names))


def test_entries_are_selected_by_tag_and_by_name() -> None:
    tagged = validation.entries(["textbook"], tags=["bvp", "smooth"])
    assert tagged
    assert all({"bvp", "smooth"} <= set(e.tags) for e in tagged)
    assert [e.name for e in validation.entries(only=["cooling_cup"])] == ["cooling_cup"]
    with pytest.raises(KeyError, match="no set 'other'; there are textbook"):
        validation.entries(["other"])


def test_problems_without_a_solution_have_no_reference() -> None:
    for entry in validation.entries(["textbook", "fresh"]):
        assert bool(entry.references()) == entry.has_solution


def test_problem_without_a_solution_is_solved_if_none_is_claimed() -> None:
    (entry,) = validation.entries(["textbook"], ["sealed_and_heated"])
    record = validation.measure(entry)
    assert solved(record)
    assert not record["converged"]


def simple(reference: float) -> validation.Entry:
    """-u'' = 2 on (0, 1), u = 0: u = x(1 - x) + an error of the reference."""
    import sympy as sp

    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [sp.Eq(-u.diff(x, 2), 2)], [pibls.Dirichlet(u, 0)])
    return validation.Entry(
        name=f"simple {reference:g}",
        set="test",
        build=lambda: problem,
        references=lambda: {"u": lambda s: s * (1 - s) + reference},
        tol=1e-8,
    )


def test_error_is_measured_against_functions_and_samples() -> None:
    entry = simple(1e-3)
    record = validation.measure(entry)
    assert record["error"] == pytest.approx(1e-3 / 0.25, rel=0.01)
    assert record["estimate_below"]
    assert not solved(record)
    points = np.linspace(0, 1, 5)[:, None]
    known = validation.Samples(points, points[:, 0] * (1 - points[:, 0]))
    sampled = validation.Entry("sampled", "test", entry.build, lambda: {"u": known}, 1e-8)
    assert solved(validation.measure(sampled))


def test_nearest_alternative_counts() -> None:
    right, wrong = simple(0.0), simple(1.0)
    both = validation.Entry(
        "both", "test", right.build, wrong.references, 1e-8, alternatives=lambda: [right.references()]
    )
    assert validation.measure(both)["error"] < 1e-10


def test_run_stores_records_and_compare_finds_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records of other problems stay in the file; two runs have the same fingerprints."""
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    runner.run([simple(0.0)], out=one)
    runner.run([simple(1e-3), simple(0.0)], out=two, jobs=2)
    assert list(runner.read(one)) == [("test", "simple 0", 0)]
    runner.run([simple(1e-3)], out=one)
    assert set(runner.read(one)) == set(runner.read(two))
    capsys.readouterr()
    assert compare.compare(one, two) == 0
    assert "2 of 2 solves are equal bit for bit" in capsys.readouterr().out


def record(name: str, error: float, estimate: float, seconds: float = 1.0) -> Record:
    return {
        "set": "test", "name": name, "seed": 0, "status": "TOLERANCE", "converged": True, "tol": 1e-8,
        "limit": 3e-8, "has_solution": True, "nodes": 1, "digest": str(error), "seconds": seconds,
        "error": error, "ratio": estimate / error, "estimate": estimate, "estimate_below": estimate < error,
    }  # fmt: skip


def test_compare_reports_what_was_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = [record("lost", 1e-9, 1e-8), record("gained", 1e-3, 1e-2), record("below", 1e-9, 1e-8)]
    new = [record("lost", 1e-3, 1e-2, 4.0), record("gained", 1e-9, 1e-8), record("below", 2e-9, 1e-9)]
    for name, records in (("old", old), ("new", new)):
        runner.write(tmp_path / name, {runner.key(r): r for r in records})
    assert main(["compare", str(tmp_path / "old"), str(tmp_path / "new")]) == 1
    out = capsys.readouterr().out
    assert "newly lost: test: lost, seed 0\n" in out
    assert "newly solved: test: gained, seed 0\n" in out
    assert "estimate newly below error: test: below, seed 0\n" in out
    assert "0 of 3 solves are equal bit for bit" in out
    assert f"geometric mean {4 ** (1 / 3):.3f} of 3 solves" in out


def test_process_that_fails_or_takes_too_long_is_recorded() -> None:
    def fail() -> pibls.Problem:
        raise RuntimeError("no such problem")

    def wait() -> pibls.Problem:
        import time

        time.sleep(60)
        raise AssertionError

    entries = [validation.Entry(f.__name__, "test", f, dict, 1e-8) for f in (fail, wait)]
    records = list(runner.solve_all([(e, 0) for e in entries], kill_after=2.0))
    assert [r["status"] for r in records] == ["CRASHED", "KILLED"]
    assert "no such problem" in records[0]["message"]
    assert not any(map(solved, records))


def test_unknown_name_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--only", "nothing"]) == 2
    assert "no problem nothing" in capsys.readouterr().err


def test_missing_values_count_as_infinite_error() -> None:
    entry = simple(0.0)
    nan = validation.Entry("nan", "test", entry.build, lambda: {"u": lambda s: s * math.nan}, 1e-8)
    assert validation.measure(nan)["error"] == math.inf
