"""solution.save("heat.pibls"), pibls.load("heat.pibls"): a solution on disk, read back bit for bit.

The file (`container`) holds the text of the problem, the drawn space, the weights and everything that is
known about the outcome; no code, and nothing that is executed on reading.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pibls._version import __version__
from pibls.adaptive.validation.estimate import KnownEstimate, Norms
from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.geometry import box_of
from pibls.io.choices import describe_choice, rebuild_choice
from pibls.io.container import read_container, write_container
from pibls.io.entries import Numbers
from pibls.io.kinds import KNOWN, unknowns_of
from pibls.io.notes import read_notes, write_note
from pibls.io.problem_file import parse_problem
from pibls.io.record import Record, damaged, plain
from pibls.io.records import Reader, Writer
from pibls.io.writing import problem_text
from pibls.problem import Problem
from pibls.problem.interfaces.materials import materials_of
from pibls.solution import Solution
from pibls.spaces import Pieces
from pibls.status import Status

_SAVE = "solution.save(path)"
_WEIGHTS = Numbers("n")


def save(solution: Solution, path: str | os.PathLike[str], /) -> Path:
    """Write the solution into one file, for `pibls.load`.

    `Solution.save` says more.
    """
    file = _path(path, _SAVE)
    text = _text(solution.problem)
    writer = Writer(KNOWN, _SAVE)
    space = writer.part(solution.space, "space")
    weights = _WEIGHTS.write(solution.coefficients, writer)
    error = solution.error
    header = {
        "pibls": __version__,
        "problem": text,
        "unknowns": _names(solution.problem),
        "space": space,
        "weights": weights,
        "status": solution.status.name,
        "residuals": [
            {"name": name, "max": plain(n.max), "rms": plain(n.rms), "relative": plain(n.relative)}
            for name, n in solution.residuals.items()
        ],
        "error": writer.part(error, "estimate"),
        "seconds": plain(solution.seconds),
        "seed": int(solution.seed),
        "tol": plain(solution.tol),
        "steps": int(solution.steps),
        "settings": {str(key): describe_choice(value) for key, value in solution.settings.items()},
        "history": [writer.part(p, "progress") for p in solution.history],
        "notes": {str(key): write_note(value, writer) for key, value in solution.notes.items()},
    }
    write_container(file, header, writer.arrays, _SAVE)
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
    reader = Reader(KNOWN, container.arrays, len(problem.coordinates))
    space = reader.part(header.record("space"), "space")
    if header.record("space").text("kind") == "pieces":
        space = _located(space, problem, name)
    if unknowns_of(space) != len(problem.unknowns):
        got = f"for {unknowns_of(space)}"
        raise damaged(name, f"a space for {len(problem.unknowns)} unknown(s), as in the problem", got)
    weights = _WEIGHTS.read(header, "weights", reader, {"n": space.columns})
    estimate = reader.part(header.record("error"), "estimate")
    history = tuple(reader.part(r, "progress") for r in header.records("history"))
    notes = read_notes(header.record("notes"), reader)
    reader.finish(name)
    solution = Solution(
        problem=problem,
        space=space,
        coefficients=weights,
        status=_status(header),
        residuals=_residuals(header),
        seconds=header.number("seconds"),
        seed=header.whole("seed"),
        tol=header.number("tol"),
        steps=header.whole("steps"),
        settings={k: rebuild_choice(v, name) for k, v in header.record("settings").values.items()},
        history=history,
        estimator=KnownEstimate(estimate),
        notes=notes,
    )
    _ = solution.error  # known from the start, so that the message tells it
    return solution


def _located(space: Pieces, problem: Problem, name: str) -> Pieces:
    """The same with what says in which piece a point is: the problem itself."""
    materials = materials_of(problem)
    if materials is None or len(materials) != space.count:
        got = "none" if materials is None else f"{len(materials)}"
        raise damaged(name, f"a problem with {space.count} pieces, as in the space", got)
    return replace(space, locate=materials.locate)


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
    if Status[name] is Status.UNSTABLE and "growth" not in header.record("notes").values:
        raise header.refusal("notes", "growth, as the status UNSTABLE has it")
    return Status[name]


def _residuals(header: Record) -> dict[str, Norms]:
    found = header.records("residuals")
    out = {r.text("name"): Norms(r.number("max"), r.number("rms"), r.number("relative")) for r in found}
    if not out or len(out) != len(found):
        raise damaged(header.file, "residuals, each once", f"{len(out)} of {len(found)}")
    return out
