"""The command `pibls sweep`: one problem for many values of its parameters, resumable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.cli.values import number, shortest, values_at
from pibls.errors import ProblemError

if TYPE_CHECKING:
    from pibls.problem import Problem
    from pibls.solution import Solution

_MAX_COMBINATIONS = 100_000


def combinations(texts: Sequence[str]) -> list[dict[str, float]]:
    """Parse k=1,2,3 or k=0:10:21; return all combinations of the values of several parameters."""
    names, ranges = [], []
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values:
            raise _malformed(text)
        if name.strip() in names:
            raise ProblemError(
                "--param",
                expected="each parameter once",
                got=f"{name.strip()} twice",
                remedy=f"Write all its values in one option: --param {name.strip()}=1,2,3.",
            )
        names.append(name.strip())
        ranges.append(_range(values, text))
    if np.prod([len(r) for r in ranges], dtype=float) > _MAX_COMBINATIONS:
        raise ProblemError(
            "--param",
            expected=f"at most {_MAX_COMBINATIONS} combinations",
            got=" × ".join(str(len(r)) for r in ranges),
            remedy="Use fewer values.",
        )
    return [dict(zip(names, values, strict=True)) for values in product(*ranges)]


def _range(values: str, text: str) -> list[float]:
    if ":" not in values:
        return [number(v, "--param") for v in values.split(",")]
    parts = values.split(":")
    if len(parts) != 3:
        raise _malformed(text)
    start, stop, count = (number(v, "--param") for v in parts)
    if count != int(count) or not 1 <= count <= _MAX_COMBINATIONS:
        raise _malformed(text)
    return [float(v) for v in np.linspace(start, stop, int(count))]


def _malformed(text: str) -> ProblemError:
    return ProblemError(
        "--param",
        expected="NAME=1,2,3 or NAME=START:STOP:COUNT",
        got=repr(text),
        remedy="Write for example --param k=0:10:21.",
    )


def sweep_rows(
    problem: Path,
    values: list[dict[str, float]],
    given: Mapping[str, object],
    folder: Path | None,
    at: list[str],
) -> Iterator[dict[str, Any]]:
    """Yield a row per combination, in order, as soon as it and those before it are solved."""
    ready: dict[int, Solution] = {}
    next_row = 0
    for i, solution in _solutions(problem, values, given, folder):
        ready[i] = solution
        while next_row in ready:
            yield _row(values[next_row], ready.pop(next_row), at)
            next_row += 1


def _row(parameters: dict[str, float], solution: Solution, at: list[str]) -> dict[str, Any]:
    return {
        "parameters": parameters,
        "converged": solution.converged,
        "status": solution.status.name,
        "error": solution.error.max,
        "seconds": solution.seconds,
        "values": [values_at(solution, text) for text in at],
    }


def _solutions(
    path: Path, values: list[dict[str, float]], given: Mapping[str, object], folder: Path | None
) -> Iterator[tuple[int, Solution]]:
    """Yield (index, solution): first those on disk, then the others, solved together where possible."""
    import warnings

    import pibls
    from pibls.io import read_problem
    from pibls.postprocess.sweeps import iterate_sweep

    file = read_problem(path, parameters=values[0])
    settings: dict[str, Any] = {**file.settings, **{k: v for k, v in given.items() if v is not None}}
    same_domain = {str(k) for k in file.problem.parameters} >= values[0].keys()
    problems = _problems_at(values, path, file.problem if same_domain else None)
    saved_paths = [_saved_path(path, v, folder) for v in values]
    missing = []
    for i, (problem, saved_path) in enumerate(zip(problems, saved_paths, strict=True)):
        found = _load_saved(saved_path, problem, settings)
        if found is None:
            missing.append(i)
        else:
            yield i, found
    groups = [missing] if same_domain else [[i] for i in missing]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        for group in groups:
            for k, solution in iterate_sweep([problems[i] for i in group], **settings):
                saved_path = saved_paths[group[k]]
                if saved_path is not None:
                    solution.save(saved_path)
                yield group[k], solution


def _saved_path(path: Path, parameters: dict[str, float], folder: Path | None) -> Path | None:
    name = "_".join(f"{k}={shortest(v)}" for k, v in parameters.items())
    return None if folder is None else folder / f"{path.stem}.{name}.pibls"


def _problems_at(values: list[dict[str, float]], path: Path, problem: Problem | None) -> list[Problem]:
    """Return the problem at each value; a parameter in the domain (``problem`` is None) gives another one."""
    from pibls.io import read_problem

    if problem is None:
        return [read_problem(path, parameters=v).problem for v in values]
    return [problem.at(v) for v in values]


def _load_saved(saved_path: Path | None, problem: Problem, settings: Mapping[str, object]) -> Solution | None:
    """Load the saved solution if it belongs to this problem, tolerance and seed; else None."""
    import pibls

    if saved_path is None or not saved_path.exists():
        return None
    found = pibls.load(saved_path)
    same = (found.tol, found.seed) == (settings["tol"], settings["seed"])
    return found if found.problem == problem and same else None
