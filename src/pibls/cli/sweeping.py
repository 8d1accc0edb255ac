"""One problem for many values of its parameters; what is finished stays finished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from pibls.cli.values import number, short, values_at
from pibls.errors import ProblemError

_MOST = 100_000


def combinations(texts: Sequence[str]) -> list[dict[str, float]]:
    """k=1,2,3 or k=0:10:21; several parameters give all combinations."""
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
                remedy=f"Write all its values in one: --param {name.strip()}=1,2,3.",
            )
        names.append(name.strip())
        ranges.append(_range(values, text))
    if np.prod([len(r) for r in ranges], dtype=float) > _MOST:
        raise ProblemError(
            "--param",
            expected=f"at most {_MOST} combinations",
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
    if count != int(count) or not 1 <= count <= _MOST:
        raise _malformed(text)
    return [float(v) for v in np.linspace(start, stop, int(count))]


def _malformed(text: str) -> ProblemError:
    return ProblemError(
        "--param",
        expected="NAME=1,2,3 or NAME=START:STOP:COUNT",
        got=repr(text),
        remedy="Write for example --param k=0:10:21.",
    )


def swept(
    problem: Path,
    values: list[dict[str, float]],
    given: Mapping[str, Any],
    folder: Path | None,
    at: list[str],
) -> Iterator[dict[str, Any]]:
    """A row per combination, in their order, each as soon as it and those before it are solved."""
    ready: dict[int, Any] = {}
    told = 0
    for i, solution in _solved(problem, values, given, folder):
        ready[i] = solution
        while told in ready:
            yield _row(values[told], ready.pop(told), at)
            told += 1


def _row(parameters: dict[str, float], solution: Any, at: list[str]) -> dict[str, Any]:
    return {
        "parameters": parameters,
        "converged": solution.converged,
        "status": solution.status.name,
        "error": solution.error.max,
        "seconds": solution.seconds,
        "values": [values_at(solution, text) for text in at],
    }


def _solved(
    path: Path, values: list[dict[str, float]], given: Mapping[str, Any], folder: Path | None
) -> Iterator[tuple[int, Any]]:
    """(index, solution): those on disk first, then the others, which help each other where they can."""
    import warnings

    import pibls
    from pibls.io import read_problem
    from pibls.postprocess.sweeps import swept as solved_together

    file = read_problem(path, parameters=values[0])
    settings = {**file.settings, **{k: v for k, v in given.items() if v is not None}}
    names = {str(k) for k in file.problem.parameters}
    together = names >= values[0].keys()
    # A parameter that shapes the domain makes another problem of each value.
    problems = [file.problem.at(v) if together else read_problem(path, parameters=v).problem for v in values]
    places = [_saved(path, v, folder) for v in values]
    missing = []
    for i, (problem, place) in enumerate(zip(problems, places, strict=True)):
        found = _found(place, problem, settings)
        if found is None:
            missing.append(i)
        else:
            yield i, found
    groups = [missing] if together else [[i] for i in missing]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        for group in groups:
            for k, solution in solved_together([problems[i] for i in group], **settings):
                place = places[group[k]]
                if place is not None:
                    solution.save(place)
                yield group[k], solution


def _saved(path: Path, parameters: dict[str, float], folder: Path | None) -> Path | None:
    name = "_".join(f"{k}={short(v)}" for k, v in parameters.items())
    return None if folder is None else folder / f"{path.stem}.{name}.pibls"


def _found(place: Path | None, problem: Any, settings: Mapping[str, Any]) -> Any:
    """The solution that is on disk already, if it is that of this problem."""
    import pibls

    if place is None or not place.exists():
        return None
    found = pibls.load(place)
    same = (found.tol, found.seed) == (settings["tol"], settings["seed"])
    return found if found.problem == problem and same else None
