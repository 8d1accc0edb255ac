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
    """A row per combination, as soon as it is solved."""
    for parameters in values:
        solution = _one(problem, parameters, given, folder)
        yield {
            "parameters": parameters,
            "converged": solution.converged,
            "status": solution.status.name,
            "error": solution.error.max,
            "seconds": solution.seconds,
            "values": [values_at(solution, text) for text in at],
        }


def _one(problem: Path, parameters: dict[str, float], given: Mapping[str, Any], folder: Path | None) -> Any:
    import warnings

    import pibls
    from pibls.io import read_problem
    from pibls.status import Status

    file = read_problem(problem, parameters=parameters)
    settings = {**file.settings, **{k: v for k, v in given.items() if v is not None}}
    name = "_".join(f"{k}={short(v)}" for k, v in parameters.items())
    saved = None if folder is None else folder / f"{problem.stem}.{name}.pibls"
    if saved is not None and saved.exists():
        found = pibls.load(saved)
        same = (found.tol, found.seed) == (settings["tol"], settings["seed"])
        if found.problem == file.problem and same:
            return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(file.problem, **settings)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if saved is not None:
        solution.save(saved)
    return solution
