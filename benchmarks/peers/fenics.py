"""Finite elements of order 1 and 2 by FEniCS, run with the system Python by `fenics_program.py`."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.adapter import CannotError, Outcome, Setting, Task
from pibls.cases.case import Case

PYTHON = "/usr/bin/python3"
PROGRAM, EQUATIONS = (Path(__file__).with_name(f"fenics_{name}.py") for name in ("program", "equations"))

_LINE = (20, 200, 2000, 20000)
_SQUARE = (10, 20, 40, 80, 150)
_SUPG = "Galerkin with streamline upwinding (SUPG)"
_IN_TIME = ("TC-7", "TC-8", "TC-11")
_FORMS = {
    "TC-1": _SUPG,
    "TC-2": "Galerkin",
    "TC-3": "Galerkin",
    "TC-4": "least squares along the flow",
    "TC-5": "Galerkin, conjugate gradients with algebraic multigrid",
    "TC-6": "Galerkin, conjugate gradients with algebraic multigrid",
    "TC-7": f"{_SUPG}, periodic elements; Lobatto IIIA of order 4 in time",
    "TC-8": f"{_SUPG}; Lobatto IIIA of order 4 in time",
    "TC-9": "Galerkin, Newton's method from zero",
    "TC-11": "Galerkin; Lobatto IIIA of order 4 in time, Newton's method in each step",
}
_FAIRNESS = (
    "The paper's meshes (20,000 elements, 150 × 150), with 150 steps in time where there is time. The "
    "source is part of the form and integrated with degree 2k + 4. Where plain Galerkin is poor, a better "
    "form, the best of three tried: SUPG for TC-1, TC-7 and TC-8, least squares for TC-4. Order 4 in time, "
    "so that the steps are not the error, and a cubic spline between them. Matrices that do not change are "
    "factored once; multigrid for Poisson in the plane, UMFPACK on OpenBLAS for the others; forms compiled "
    "with -O3 and -march=native. Compilation is shown apart: the same forms on a tiny mesh, nothing cached."
)


class _Order:
    """Lagrange elements of one order."""

    packages = ("dolfin",)
    install = "apt-get install fenics libopenblas0-pthread"
    fairness = _FAIRNESS
    name: str
    title: str
    order: int

    def missing(self) -> str | None:
        return absence()

    def settings(self, case: Case) -> list[Setting]:
        if case.name == "TC-10":
            raise CannotError(
                "an ordinary equation in time has no space to put elements on; see Newmark-beta"
            )
        if case.name not in _FORMS:
            raise CannotError("no weak form was written for this case")
        sizes = _LINE if len(case.problem.domain.coordinates) == 1 else _SQUARE
        return [self._setting(case, n, table=n == sizes[-1]) for n in sizes]

    def _setting(self, case: Case, n: int, *, table: bool) -> Setting:
        values: dict[str, Any] = {"order": self.order, "elements": n, "form": _FORMS[case.name]}
        if case.name in _IN_TIME:
            values["steps"] = n
            size = f"{n} elements, {n} steps"
        else:
            size = f"{n:,} elements" if len(case.problem.domain.coordinates) == 1 else f"{n} × {n}"
        return Setting(f"P{self.order}, {size}", values, table=table)

    def run(self, task: Task) -> Outcome:
        values = task.setting.values
        request = {
            "case": task.case.name,
            **{k: values[k] for k in ("order", "elements", "steps") if k in values},
        }
        forms = task.scratch.parent / f"forms-{task.case.name}-P{self.order}-{_digest()}"
        cold = forms / "seconds"
        if not cold.exists():
            shutil.rmtree(forms, ignore_errors=True)
        reply, u = run_program(request, task, forms)
        if not cold.exists():
            cold.write_text(repr(reply["compile_seconds"]))
        return Outcome(
            u,
            reply["seconds"],
            compile_seconds=float(cold.read_text()),
            facts=reply["facts"],
            note=_FORMS[task.case.name],
        )


class P1(_Order):
    """Continuous piecewise linear elements."""

    name = "fenics-p1"
    title = "FEM P1 (FEniCS)"
    order = 1


class P2(_Order):
    """Continuous piecewise quadratic elements."""

    name = "fenics-p2"
    title = "FEM P2 (FEniCS)"
    order = 2


def absence() -> str | None:
    """Return what is missing in the system Python, without importing dolfin."""
    if not Path(PYTHON).exists():
        return f"the system's Python ({PYTHON}) is not there"
    check = "import sys; from importlib.util import find_spec; sys.exit(find_spec('dolfin') is None)"
    found = subprocess.run([PYTHON, "-c", check], env=_environment(), capture_output=True, check=False)
    return None if found.returncode == 0 else f"the package dolfin is not installed for {PYTHON}"


def run_program(request: dict[str, Any], task: Task, forms: Path) -> tuple[dict[str, Any], Any]:
    """Run the program; return its timings and facts, and the values at the points of the task."""
    forms.mkdir(parents=True, exist_ok=True)
    files = {name: str(task.scratch / name) for name in ("points.npy", "values.npy", "reply.json")}
    np.save(files["points.npy"], task.points)
    request_file = task.scratch / "request.json"
    request_file.write_text(
        json.dumps(
            {
                "request": request,
                "points": files["points.npy"],
                "values": files["values.npy"],
                "reply": files["reply.json"],
            }
        )
    )
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), str(task.threads))
    done = subprocess.run(
        [PYTHON, str(PROGRAM), str(request_file)],
        env={**_environment(), **threads, "DIJITSO_CACHE_DIR": str(forms)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{PROGRAM.name} ended with code {done.returncode}: {last}")
    reply: dict[str, Any] = json.loads(Path(files["reply.json"]).read_text())
    return reply, np.load(files["values.npy"])


def _environment() -> dict[str, str]:
    """Return the environment without variables that point to packages of another Python."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON") and k != "VIRTUAL_ENV"}


def _digest() -> str:
    """Return a digest of the program, so that compiled forms of other versions are not reused."""
    return hashlib.sha256(PROGRAM.read_bytes() + EQUATIONS.read_bytes()).hexdigest()[:8]
