"""The FEniCS adapter on a small mesh: orders of convergence, timings, and unsupported cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers import fenics
from benchmarks.peers.adapter import Adapter, CannotError, Setting, Task
from benchmarks.peers.fenics import P1, P2

import pibls

ABSENT = fenics.absence()
needs_dolfin = pytest.mark.skipif(ABSENT is not None, reason=f"{ABSENT}; {P1.install}")


def _task(case: str, setting: Setting, scratch: Path) -> Task:
    found = pibls.cases[case]
    X = found.problem.domain.interior(200, np.random.default_rng(0))
    scratch.mkdir(exist_ok=True)
    return Task(found, setting, 0, X, 1, scratch)


@pytest.mark.parametrize("adapter", [P1(), P2()])
@pytest.mark.parametrize("case", [name for name in pibls.cases if name.startswith("TC-") and name != "TC-10"])
def test_exactly_one_setting_is_the_papers_mesh(adapter: Adapter, case: str) -> None:
    settings = adapter.settings(pibls.cases[case])
    [table] = [setting for setting in settings if setting.table]
    assert table.values["elements"] in (150, 20000)
    assert len({setting.label for setting in settings}) == len(settings)


def test_equation_in_time_only_is_rejected() -> None:
    with pytest.raises(CannotError, match="Newmark-beta"):
        P1().settings(pibls.cases["TC-10"])


def test_missing_interpreter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fenics, "PYTHON", "/nowhere/python3")
    assert fenics.absence() == "the system's Python (/nowhere/python3) is not there"


@needs_dolfin
def test_order_two_gains_a_factor_of_eight(tmp_path: Path) -> None:
    errors = []
    for n in (10, 20):
        task = _task("TC-2", Setting(f"{n}", {"order": 2, "elements": n}), tmp_path / f"{n}")
        outcome = P2().run(task)
        errors.append(np.abs(outcome.values - task.case.exact(*task.points.T)).max())
        assert outcome.seconds > 0.0
        assert outcome.compile_seconds > outcome.seconds
        # At the nodes the error is of a higher order; the benchmark measures it between them.
        assert outcome.facts["nodal_max_error"] < 0.1 * errors[-1]
    assert 6.0 < errors[0] / errors[1] < 10.0


@needs_dolfin
def test_interpolation_in_time_keeps_accuracy(tmp_path: Path) -> None:
    task = _task("TC-7", Setting("20", {"order": 1, "elements": 20, "steps": 20}), tmp_path / "20")
    outcome = P1().run(task)
    error = np.abs(outcome.values - task.case.exact(*task.points.T)).max()
    # h²/8 max|u''| is the interpolation error of linear elements of that size.
    assert error < 2.0 * 0.1**2 / 8 * np.pi**2


@needs_dolfin
def test_failure_reports_the_exit_code_of_the_program(tmp_path: Path) -> None:
    task = _task("TC-2", Setting("none", {"order": 0, "elements": 4}), tmp_path / "none")
    with pytest.raises(RuntimeError, match=r"fenics_program.py ended with code"):
        P1().run(task)
