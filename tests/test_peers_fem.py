"""The finite-element peers: NGSolve and scikit-fem on the cases with two coordinates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from benchmarks import peers
from benchmarks.peers.adapter import Adapter, CannotError, Setting, Task
from benchmarks.peers.plane import Candidate, busy_note, candidates, plane_of
from benchmarks.worker import held_out

import pibls

SYSTEMS = ["ngsolve", "scikit-fem"]
PLANE = ["TC-4", "TC-5", "TC-6", "TC-7", "TC-8", "TC-11"]


def available(system: str) -> Adapter:
    adapter = peers.adapter(system)
    absence = adapter.missing()
    if absence is not None:
        pytest.skip(f"{absence}; {adapter.install}")
    return adapter


def error(adapter: Adapter, name: str, order: int, nx: int, ny: int) -> float:
    case, setting = pibls.cases[name], Setting("", vars(Candidate(order, nx, ny)))
    X = held_out(case)
    out = adapter.run(Task(case, setting, 0, X, 1, Path()))
    assert out.values.shape == (len(X),)
    assert out.seconds > 0
    return float(np.abs(out.values - case.exact(*X.T)).max())


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("name", PLANE)
def test_error_on_a_small_mesh_at_order_8(system: str, name: str) -> None:
    assert error(available(system), name, 8, 4, 2) < 1e-5


@pytest.mark.parametrize("system", SYSTEMS)
def test_convergence_order_is_that_of_the_elements(system: str) -> None:
    # The error of u in L∞ decreases with order p + 1.
    coarse, fine = (error(available(system), "TC-5", 4, n, n) for n in (4, 8))
    assert np.log2(coarse / fine) > 4.5


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("nx", [1, 2, 3])
def test_periodic_condition_on_few_elements(system: str, nx: int) -> None:
    assert error(available(system), "TC-7", 12, nx, 1) < 1e-5


@pytest.mark.parametrize("system", SYSTEMS)
def test_one_setting_is_for_the_table(system: str) -> None:
    for name in PLANE:
        settings = peers.adapter(system).settings(pibls.cases[name])
        assert sum(s.table for s in settings) == 1
        assert len({s.label for s in settings}) == len(settings)
        measured = [c.label for c in candidates(plane_of(pibls.cases[name]))]
        assert {s.label for s in settings} <= set(measured)


@pytest.mark.parametrize("system", SYSTEMS)
def test_interval_is_rejected(system: str) -> None:
    with pytest.raises(CannotError, match="1D cases have solve_bvp and FEniCS"):
        peers.adapter(system).settings(pibls.cases["TC-2"])


def test_data_are_read_from_the_problem() -> None:
    x, t = sp.symbols("x t")
    wave, burgers = plane_of(pibls.cases["TC-8"]), plane_of(pibls.cases["TC-11"])
    assert wave.kind == "advection"
    assert wave.velocity == (x + 1, 1)
    assert set(wave.given) == {"bottom"}
    assert t not in wave.given["bottom"].free_symbols
    assert (burgers.kind, burgers.viscosity) == ("burgers", 0.01)
    assert t not in burgers.given["bottom"].free_symbols
    assert plane_of(pibls.cases["TC-7"]).periodic


def test_busy_machine_is_reported() -> None:
    assert busy_note(1.0, 0.99) == ""
    assert "0.1 s of processor time" in busy_note(1.0, 0.1)
