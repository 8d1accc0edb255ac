"""The benchmark harness: adapters implement the protocol, runs are stored and not repeated."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from benchmarks import peers, run, store, worker
from benchmarks.peers import locelm, pielm
from benchmarks.peers.adapter import CannotError, Outcome, Setting, Task

import pibls


@pytest.mark.parametrize("name", list(peers.MODULES))
def test_adapters_describe_themselves(name: str) -> None:
    """Also if its package is not installed: the report quotes these descriptions."""
    adapter = peers.adapter(name)
    assert adapter.name == name
    assert adapter.title
    assert adapter.install
    assert adapter.fairness
    assert adapter.missing() is None or isinstance(adapter.missing(), str)


class FakeAdapter:
    """An adapter that returns the exact solution plus its seed; TC-2 is unsupported, TC-3 fails."""

    name = "made"
    title = "Made up"
    packages = ("numpy",)
    install = "nothing"
    fairness = "none"

    def missing(self) -> str | None:
        return None

    def settings(self, case: Any) -> list[Setting]:
        if case.name == "TC-2":
            raise CannotError("it has no second derivative")
        return [
            Setting("a", {"n": 1}, table=True, seeds=(0, 1)),
            Setting("b", {"n": 2}, slow=True),
        ]

    def run(self, task: Task) -> Outcome:
        if task.case.name == "TC-3":
            raise ValueError("broken")
        return Outcome(task.case.exact(*task.points.T) + task.seed, 0.5, facts={"steps": 3})


def run_worker(
    case: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> list[store.Run]:
    monkeypatch.setattr(peers, "adapter", lambda name: FakeAdapter())
    with TemporaryDirectory() as state:
        monkeypatch.setattr("sys.argv", ["worker", "made", case, "--state", state, *arguments])
        worker.main()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_worker_measures_errors_at_points_not_fitted(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    runs = run_worker("TC-1", [], monkeypatch, capsys)
    assert [(r["setting"], r["seed"]) for r in runs] == [("a", 0), ("a", 1)]
    assert [r["max_error"] for r in runs] == pytest.approx([0.0, 1.0])
    assert runs[1]["l2_error"] == pytest.approx(1.0)
    assert runs[0]["facts"] == {"steps": 3}
    assert {"versions", "threads", "machine", "date", "command"} <= set(runs[0])


def test_errors_on_the_grid_include_the_boundary(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """An error at the end points only is seen on the grid, not at interior points."""

    class ErrorAtTheEnds(FakeAdapter):
        def run(self, task: Task) -> Outcome:
            x = task.points[:, 0]
            return Outcome(task.case.exact(*task.points.T) + ((x == 0) | (x == 1)), 0.5)

    monkeypatch.setattr(peers, "adapter", lambda name: ErrorAtTheEnds())
    with TemporaryDirectory() as state:
        monkeypatch.setattr("sys.argv", ["worker", "made", "TC-1", "--state", state])
        worker.main()
    run = json.loads(capsys.readouterr().out.splitlines()[0])
    assert run["max_error"] == 0
    assert run["grid_max_error"] == 1
    assert run["grid_l2_error"] == pytest.approx(np.sqrt(2 / 5000))


@pytest.mark.parametrize(
    ("name", "count"), [("TC-1", 5000), ("TC-2", 1000), ("TC-5", 71**2), ("TC-10", 5000)]
)
def test_grid_is_as_fine_as_in_the_paper(name: str, count: int) -> None:
    case = pibls.cases[name]
    points = worker.grid(case)
    assert len(points) == count
    bounds = np.asarray(case.problem.domain.bounds, dtype=float)
    assert np.array_equal(points.min(axis=0), bounds[:, 0])
    assert np.array_equal(points.max(axis=0), bounds[:, 1])


def test_new_errors_with_stored_times(tmp_path: Path) -> None:
    old = {
        "system": "s",
        "case": "TC-1",
        "setting": "a",
        "seed": 0,
        "status": "ok",
        "seconds": 1.0,
        "note": "",
        "compile_seconds": 0.0,
        "versions": {"pibls": "0.1.0"},
        "date": "2026-11-16",
    }
    store.add(old, tmp_path)
    new = {**old, "seconds": 9.0, "max_error": 1e-3, "versions": {"pibls": "0.2.0"}, "date": "2026-11-18"}
    kept = store.with_older_seconds(new, tmp_path)
    assert (kept["seconds"], kept["max_error"], kept["date"]) == (1.0, 1e-3, "2026-11-18")
    assert kept["timed"] == {"version": "0.1.0", "date": "2026-11-16"}
    store.add(kept, tmp_path)
    repeated = store.with_older_seconds({**new, "seconds": 7.0}, tmp_path)
    assert (repeated["seconds"], repeated["timed"]) == (1.0, kept["timed"])
    assert store.with_older_seconds({**new, "seed": 5}, tmp_path)["seconds"] == 9.0


def test_slow_settings_are_for_the_full_benchmark(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert [r["setting"] for r in run_worker("TC-1", ["--full"], monkeypatch, capsys)] == ["a", "a", "b"]


def test_completed_runs_are_skipped(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    runs = run_worker("TC-1", ["--done", '[["a", 0]]'], monkeypatch, capsys)
    assert [r["seed"] for r in runs] == [1]


def test_reasons_are_recorded(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (cannot,) = run_worker("TC-2", [], monkeypatch, capsys)
    assert (cannot["status"], cannot["note"]) == ("cannot", "it has no second derivative")
    failed = run_worker("TC-3", [], monkeypatch, capsys)
    assert {r["status"] for r in failed} == {"failed"}
    assert "ValueError: broken" in failed[0]["note"]


def test_repeated_run_replaces_the_stored_one(tmp_path: Path) -> None:
    first = {"system": "s", "case": "TC-1", "setting": "a", "seed": 0, "status": "ok", "seconds": 1.0}
    store.add(first, tmp_path)
    store.add({**first, "seed": 1}, tmp_path)
    store.add({**first, "seconds": 2.0}, tmp_path)
    runs = store.read("s", "TC-1", tmp_path)
    assert sorted((r["seed"], r["seconds"]) for r in runs) == [(0, 2.0), (1, 1.0)]
    assert store.read_all(tmp_path) == runs
    assert not list(tmp_path.rglob("*.tmp"))


def test_runner_stores_and_resumes(tmp_path: Path, capsys: Any) -> None:
    kept = tmp_path / "results"
    arguments = [
        "--system",
        "pielm",
        "--case",
        "TC-2",
        "--results",
        str(kept),
        "--state",
        str(tmp_path / "state"),
    ]
    run.main(arguments)
    assert not list((tmp_path / "state").rglob("TC-*"))
    runs = store.read("pielm", "TC-2", kept)
    assert [r["seed"] for r in runs] == [0, 1, 2, 3, 4]
    assert all(r["status"] == "ok" and r["threads"] == 1 for r in runs)
    capsys.readouterr()
    run.main(arguments)
    assert capsys.readouterr().out == ""


def small_task(case: str, setting: Setting) -> Task:
    found = pibls.cases[case]
    return Task(found, setting, 0, found.problem.domain.interior(200, np.random.default_rng(1)), 1, Path())


def test_pielm() -> None:
    task = small_task("TC-2", Setting("", {"nodes": 80, "scale": 4.0}))
    out = pielm.BestScale().run(task)
    assert np.abs(out.values - task.case.exact(*task.points.T)).max() < 1e-8
    with pytest.raises(CannotError, match="linear"):
        pielm.Published().settings(pibls.cases["TC-9"])


def test_locelm() -> None:
    task = small_task("TC-10", Setting("", {"cells": [2], "nodes": 40, "scale": 3.0}))
    out = locelm.LocELM().run(task)
    assert np.abs(out.values - task.case.exact(*task.points.T)).max() < 1e-9
    method = locelm._METHODS["zero"]
    assert (method.start, method.random_factors) == ("zero", True)
    other = small_task("TC-10", Setting("", {"cells": [2], "nodes": 40, "scale": 3.0, "start": "linearised"}))
    assert not np.array_equal(locelm.LocELM().run(other).values, out.values)
