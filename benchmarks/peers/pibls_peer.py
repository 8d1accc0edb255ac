"""pibls with default settings and with the configuration of the paper."""

from __future__ import annotations

import time
import warnings
from typing import Any

import pibls
from benchmarks.peers.adapter import SEEDS, Outcome, Setting, Task
from pibls.cases.case import Case


class ZeroSettings:
    """`solve(problem, tol=…)` with default settings."""

    name = "pibls"
    title = "pibls, no settings"
    packages = ("pibls",)
    install = "pip install -e ."
    fairness = "Nothing is chosen per case; the time includes the search and the error estimate."

    def missing(self) -> str | None:
        return None

    def settings(self, case: Case) -> list[Setting]:
        curve = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10]
        return [
            *(Setting(f"tol={tol:g}", {"tol": tol}, seeds=SEEDS) for tol in curve),
            Setting("tol=1e-13", {"tol": 1e-13}, table=True, seeds=SEEDS),
        ]

    def run(self, task: Task) -> Outcome:
        return _solve(task, dict(task.setting.values))


class PublishedSettings:
    """The paper's nodes, scales, points and algorithms."""

    name = "pibls-published"
    title = "PIBLS as published"
    packages = ("pibls",)
    install = "pip install -e ."
    fairness = (
        "The paper's number of nodes and points, the groups, R and whitening of its authors' public code; "
        "Algorithm 1 with LAPACK's gelsd, Algorithm 2 with perturbation 0.5 and at most 5 rounds. No error "
        "estimate is made."
    )

    def missing(self) -> str | None:
        return None

    def settings(self, case: Case) -> list[Setting]:
        basis, points = case.published.settings["basis"], case.published.settings["points"]
        return [Setting("published", {"basis": repr(basis), "points": repr(points)}, table=True, seeds=SEEDS)]

    def run(self, task: Task) -> Outcome:
        return _solve(task, task.case.published.settings)


def _solve(task: Task, arguments: dict[str, Any]) -> Outcome:
    # Imports and warm-up of BLAS are not part of the solve.
    warm_up()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        # With one thread, CPU time is the wall time on an idle machine.
        clock = time.process_time if task.threads == 1 else time.perf_counter
        began = clock()
        solution = pibls.solve(task.case.problem, seed=task.seed, **arguments)
        seconds = clock() - began
    return Outcome(
        solution(*task.points.T),
        seconds,
        facts={
            "nodes": solution.nodes,
            "converged": solution.converged,
            "estimate": solution.error.max,
            "status": solution.status.name,
        },
    )


def warm_up() -> None:
    """Solve a small problem once, so that imports are not counted."""
    pibls.solve(pibls.cases["TC-2"].problem, tol=1e-3)
