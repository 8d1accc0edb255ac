"""solution.save("heat.pibls"), pibls.load("heat.pibls"): a solution on disk, read back bit for bit.

The file (`container`) holds the text of the problem, the drawn basis, the weights and everything that is
known about the outcome; no code, and nothing that is executed on reading.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pibls._version import __version__
from pibls.arrays import PointFunction
from pibls.domain import box_of
from pibls.errors import ProblemError
from pibls.io.bases import Builder, Describer
from pibls.io.choices import describe_choice, rebuild_choice
from pibls.io.container import read_container, write_container
from pibls.io.problem_file import parse_problem
from pibls.io.record import Record, damaged, plain
from pibls.io.writing import problem_text
from pibls.problem import Problem
from pibls.search.estimate import ErrorEstimate, Norms
from pibls.search.loop import Progress
from pibls.solution import Solution
from pibls.status import Status

_SAVE = "solution.save(path)"


def save(solution: Solution, path: str | os.PathLike[str], /) -> Path:
    """Write the solution into one file, for `pibls.load`.

    With a given basis the error is estimated first, which takes a second solve, unless that was done
    already. An older file of that name is replaced only when the new one is complete. A basis, activation
    or domain of a class of one's own cannot be saved; Python functions among the data are saved by name
    only. Returns the path.

    >>> import tempfile, sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])
    >>> solution = pibls.solve(problem)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = pibls.load(solution.save(f"{folder}/growth.pibls"))
    >>> bool(again(0.3) == solution(0.3)), again.summary() == solution.summary()
    (True, True)
    """
    file = _path(path, _SAVE)
    text = _text(solution.problem)
    describer = Describer(_SAVE)
    described = {"basis": describer.basis(solution.basis), "weights": describer.array(solution.weights)}
    error = solution.error
    header = {
        "pibls": __version__,
        "problem": text,
        "unknowns": _names(solution.problem),
        **described,
        "status": solution.status.name,
        "residuals": [
            {"name": name, "max": plain(n.max), "rms": plain(n.rms), "relative": plain(n.relative)}
            for name, n in solution.residuals.items()
        ],
        "error": {"max": plain(error.max), "l2": plain(error.l2)},
        "seconds": plain(solution.seconds),
        "seed": int(solution.seed),
        "tol": plain(solution.tol),
        "steps": int(solution.steps),
        "settings": {str(key): describe_choice(value) for key, value in solution.settings.items()},
        "history": [
            {
                "nodes": int(p.nodes),
                "residual": plain(p.residual),
                "error": None if p.error is None else plain(p.error),
                "seconds": plain(p.seconds),
            }
            for p in solution.history
        ],
    }
    write_container(file, header, describer.arrays, _SAVE)
    return file


def load(path: str | os.PathLike[str], *, functions: Mapping[str, PointFunction] | None = None) -> Solution:
    """The solution of a file that ``solution.save(path)`` wrote.

    Parameters
    ----------
    path
        The file. One that is damaged or of another kind is refused with a `ProblemError`; nothing in a
        file is ever executed.
    functions
        The Python functions of the problem by name, if it had any: a file holds no code. Without them the
        solution can be evaluated, but its residual cannot.

    Values and derivatives are those of the saved solution, bit for bit on the same machine.
    """
    file = _path(path, "pibls.load(path)")
    container = read_container(file)
    header, name = container.header, str(file)
    text = header.text("problem")
    problem = parse_problem(text, file=f"{name}: problem", functions=functions, stand_ins=True).problem
    if header.text("unknowns") != _names(problem):
        raise header.refusal("unknowns", f"{_names(problem)}, as in the problem")
    builder = Builder(name, container.arrays, len(problem.coordinates))
    basis = builder.basis(header.record("basis"))
    weights = builder.array(header, "weights", (basis.size * len(problem.unknowns),))
    builder.finish()
    error = header.record("error")
    estimate = ErrorEstimate(error.number("max"), error.number("l2"))
    solution = Solution(
        problem=problem,
        basis=basis,
        weights=weights,
        status=_status(header),
        residuals=_residuals(header),
        seconds=header.number("seconds"),
        seed=header.whole("seed"),
        tol=header.number("tol"),
        steps=header.whole("steps"),
        settings={k: rebuild_choice(v, name) for k, v in header.record("settings").values.items()},
        history=tuple(_progress(r) for r in header.records("history")),
        estimator=lambda: estimate,
    )
    _ = solution.error  # known from the start, so that the message tells it
    return solution


def _path(path: Any, argument: str) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ProblemError(
            argument,
            expected="the name of a file",
            got=repr(path),
            remedy='Write "solution.pibls", or a pathlib.Path.',
        )
    return Path(path)


def _text(problem: Problem) -> str:
    """The text of a problem, once it has been seen to read back as this problem."""
    try:
        text = problem_text(problem)
        again = parse_problem(text, stand_ins=True).problem
    except ProblemError as error:
        raise ProblemError(
            f"{_SAVE}: problem", expected=error.expected, got=error.got, remedy=error.remedy
        ) from None
    if (again.coordinates, again.unknowns) != (problem.coordinates, problem.unknowns) or (
        box_of(again.domain) != box_of(problem.domain)
    ).any():
        raise ProblemError(
            f"{_SAVE}: problem",
            expected="a problem whose text reads back as the same problem",
            got=f"{again!r} instead of {problem!r}",
            remedy="Write it with plain symbols and numbers.",
        )
    return text


def _names(problem: Problem) -> str:
    return ", ".join(str(u.func) for u in problem.unknowns)


def _status(header: Record) -> Status:
    name = header.text("status")
    if name not in Status.__members__:
        raise header.refusal("status", f"one of {', '.join(Status.__members__)}")
    return Status[name]


def _residuals(header: Record) -> dict[str, Norms]:
    found = header.records("residuals")
    out = {r.text("name"): Norms(r.number("max"), r.number("rms"), r.number("relative")) for r in found}
    if not out or len(out) != len(found):
        raise damaged(header.file, "residuals, each once", f"{len(out)} of {len(found)}")
    return out


def _progress(record: Record) -> Progress:
    error = None if record.values.get("error") is None else record.number("error")
    return Progress(record.whole("nodes"), record.number("residual"), error, record.number("seconds"))
