"""Solve one problem of the registry and compare the solution with its reference."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from typing import Any

import numpy as np

import pibls
from pibls.arrays import Array
from validation.entry import Entry, References, Samples

Record = dict[str, Any]
FINGERPRINT_POINTS = 200
ANOTHER_SOLUTION = 1e-3
"""Relative error above which a solution is compared with the further solutions of its problem."""


def unknowns_of(problem: pibls.Problem) -> dict[str, Any]:
    """Return the unknown functions by name."""
    return {str(unknown.func): unknown for unknown in problem.unknowns}


def fingerprint(problem: pibls.Problem, solution: pibls.Solution) -> str:
    """Return a digest of the values of all unknowns at fixed random points."""
    rng = np.random.default_rng(0)
    X = np.asarray(problem.domain.interior(FINGERPRINT_POINTS, rng), dtype=float)
    digest = hashlib.sha256()
    for unknown in problem.unknowns:
        digest.update(np.ascontiguousarray(solution[unknown](*X.T), dtype=float).tobytes())
    return digest.hexdigest()[:16]


def true_errors(
    references: References, unknowns: dict[str, Any], solution: pibls.Solution, X: Array
) -> dict[str, dict[str, float]]:
    """Return error, max|u| and estimate of each unknown that has a reference."""
    found = {}
    for name, reference in references.items():
        if isinstance(reference, Samples):
            points, exact = reference.points, reference.values
        else:
            points, exact = X, np.asarray(reference(*X.T), dtype=float)
        part = solution[unknowns[name]]
        gap = np.abs(np.asarray(part(*points.T), dtype=float) - exact)
        error = float(gap.max()) if np.all(np.isfinite(gap)) else math.inf
        size = float(np.abs(exact).max())
        found[name] = {
            "size": size,
            "error": error,
            "relative": error / size if size > 0 else error,
            "estimate": float(part.error.max),
        }
    return found


def largest(errors: dict[str, dict[str, float]]) -> float:
    """Return the largest relative error of all unknowns."""
    return max((e["relative"] for e in errors.values()), default=0.0)


def measure(
    entry: Entry, seed: int = 0, *, tol: float | None = None, time_limit: float | None = None
) -> Record:
    """Return the record of one solve: status, errors, estimate, nodes, processor seconds, fingerprint."""
    tol = entry.tol if tol is None else tol
    record: Record = {
        "set": entry.set, "name": entry.name, "tags": list(entry.tags), "seed": seed, "tol": tol,
        "limit": entry.limit, "has_solution": entry.has_solution,
    }  # fmt: skip
    began = time.process_time()
    try:
        problem = entry.build()
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = pibls.solve(problem, tol=tol, seed=seed, time_limit=time_limit, **entry.settings)
    except pibls.ProblemError as error:
        seconds = time.process_time() - began
        return {**record, "status": "ProblemError", "converged": False, "seconds": seconds,
                "message": str(error)}  # fmt: skip
    record |= {
        "seconds": round(time.process_time() - began, 4),
        "status": solution.status.name,
        "message": str(solution.status.value),
        "converged": bool(solution.converged),
        "nodes": int(solution.nodes),
        "estimate": float(solution.error.max),
        "digest": fingerprint(problem, solution),
    }
    references = entry.references()
    if not references:
        return record
    X, unknowns = entry.points(problem, seed), unknowns_of(problem)
    try:
        candidates = [true_errors(references, unknowns, solution, X)]
        if largest(candidates[0]) > ANOTHER_SOLUTION:
            candidates += [true_errors(r, unknowns, solution, X) for r in entry.alternatives()]
    except ModuleNotFoundError as error:  # some references are computed with NGSolve
        return record | {"message": f"no reference: {error}"}
    errors = min(candidates, key=largest)
    ratios = [e["estimate"] / e["error"] for e in errors.values() if e["error"] > 0]
    return record | {
        "error": largest(errors),
        "ratio": min(ratios, default=math.inf),
        "estimate_below": any(
            e["estimate"] < e["error"] and e["relative"] > 2.0 * entry.accuracy for e in errors.values()
        ),
        "unknowns": errors,
        "solution": candidates.index(errors),
    }


def solved(record: Record) -> bool:
    """Return whether the error is at most the required one.

    Without a reference, convergence counts; without a solution, that none is claimed.
    """
    if not record["has_solution"]:
        return not record["converged"] and record["status"] not in ("CRASHED", "KILLED")
    if "error" not in record:
        return bool(record["converged"])
    return bool(record["error"] <= record["limit"])


def falsely_converged(record: Record) -> bool:
    """Return whether convergence is claimed although the required accuracy is missed."""
    return bool(record["converged"] and not solved(record))
