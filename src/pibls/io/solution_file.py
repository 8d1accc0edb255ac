"""Saving and loading of solutions, which are restored bit for bit.

The file (`container`) contains the text of the problem, the approximation space with its random numbers, the
coefficients, the error estimate and all further results. It contains no code; nothing is executed on loading.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pibls._version import __version__
from pibls.adaptive.validation.estimate import KnownEstimate, Norms
from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.geometry import box_of
from pibls.io.container import read_container, write_container
from pibls.io.field_codecs import FloatArray
from pibls.io.notes import read_notes, write_note
from pibls.io.problem_file import parse_problem
from pibls.io.problem_writer import problem_text
from pibls.io.record import Record, damaged_file, json_number
from pibls.io.saved_classes import REGISTRY, count_unknowns
from pibls.io.saved_settings import describe_setting, rebuild_setting
from pibls.io.serialization import Reader, Writer
from pibls.problem import Problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition
from pibls.solution import Solution
from pibls.spaces import SubdomainSpace
from pibls.status import Status, current_name

_SAVE = "solution.save(path)"
_COEFFICIENTS = FloatArray("n")


def save(solution: Solution, path: str | os.PathLike[str], /) -> Path:
    """Save a solution to a file for `pibls.load`.

    See `Solution.save`.
    """
    file = _path(path, _SAVE)
    text = _text(solution.problem)
    writer = Writer(REGISTRY, _SAVE)
    space = writer.write_object(solution.space, "space")
    coefficients = _COEFFICIENTS.write(solution.coefficients, writer)
    error = solution.error
    header = {
        "pibls": __version__,
        "problem": text,
        "unknowns": _names(solution.problem),
        "space": space,
        "weights": coefficients,
        "status": solution.status.name,
        "residuals": [
            {
                "name": name,
                "max": json_number(n.max),
                "rms": json_number(n.rms),
                "relative": json_number(n.relative),
            }
            for name, n in solution.residuals.items()
        ],
        "error": writer.write_object(error, "estimate"),
        "seconds": json_number(solution.seconds),
        "seed": int(solution.seed),
        "tol": json_number(solution.tol),
        "steps": int(solution.steps),
        "settings": {str(key): describe_setting(value) for key, value in solution.settings.items()},
        "history": [writer.write_object(p, "progress") for p in solution.history],
        "notes": {str(key): write_note(value, writer) for key, value in solution.notes.items()},
    }
    write_container(file, header, writer.arrays, _SAVE)
    return file


def load(path: str | os.PathLike[str], *, functions: Mapping[str, PointFunction] | None = None) -> Solution:
    """Load a solution that ``solution.save(path)`` wrote.

    Parameters
    ----------
    path
        The file. A file that is damaged or of another format raises `ProblemError`; nothing in a file is
        ever executed.
    functions
        The Python functions of the problem by name, if it has any: a file contains no code. Without them
        the solution can be evaluated, but not its residual.

    Values and derivatives equal those of the saved solution, bit for bit on the same machine.
    """
    file = _path(path, "pibls.load(path)")
    container = read_container(file)
    header, name = container.header, str(file)
    text = header.text("problem")
    problem = parse_problem(text, file=f"{name}: problem", functions=functions, stand_ins=True).problem
    if header.text("unknowns") != _names(problem):
        raise header.error_at("unknowns", f"{_names(problem)}, as in the problem")
    reader = Reader(REGISTRY, container.arrays, len(problem.coordinates))
    space = reader.read_object(header.record("space"), "space")
    if header.record("space").text("kind") == "pieces":
        space = _located(space, problem, name)
    if count_unknowns(space) != len(problem.unknowns):
        got = f"for {count_unknowns(space)}"
        raise damaged_file(name, f"a space for {len(problem.unknowns)} unknown(s), as in the problem", got)
    coefficients = _COEFFICIENTS.read(header, "weights", reader, {"n": space.columns})
    estimate = reader.read_object(header.record("error"), "estimate")
    history = tuple(reader.read_object(r, "progress") for r in header.records("history"))
    notes = read_notes(header.record("notes"), reader)
    reader.finish(name)
    solution = Solution(
        problem=problem,
        space=space,
        coefficients=coefficients,
        status=_status(header),
        residuals=_residuals(header),
        seconds=header.number("seconds"),
        seed=header.integer("seed"),
        tol=header.number("tol"),
        steps=header.integer("steps"),
        settings={k: rebuild_setting(v, name) for k, v in header.record("settings").values.items()},
        history=history,
        estimator=KnownEstimate(estimate),
        notes=notes,
    )
    _ = solution.error  # computed now, so that the message contains it
    return solution


def _located(space: SubdomainSpace, problem: Problem, name: str) -> SubdomainSpace:
    """Return the space with the function that locates points in subdomains, taken from the problem."""
    materials = subdomain_decomposition(problem)
    if materials is None or len(materials) != space.count:
        got = "none" if materials is None else f"{len(materials)}"
        raise damaged_file(name, f"a problem with {space.count} subdomains, as in the space", got)
    return replace(space, locate=materials.locate)


def _path(path: object, argument: str) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ProblemError(
            argument,
            expected="a file name",
            got=repr(path),
            remedy='Write "solution.pibls", or a pathlib.Path.',
        )
    return Path(path)


def _text(problem: Problem) -> str:
    """Return the text of a problem after checking that it parses back to the same problem."""
    try:
        text = problem_text(problem)
        parsed = parse_problem(text, stand_ins=True).problem
    except ProblemError as error:
        raise ProblemError(
            f"{_SAVE}: problem", expected=error.expected, got=error.got, remedy=error.remedy
        ) from None
    if (parsed.coordinates, parsed.unknowns) != (problem.coordinates, problem.unknowns) or (
        box_of(parsed.domain) != box_of(problem.domain)
    ).any():
        raise ProblemError(
            f"{_SAVE}: problem",
            expected="a problem whose text parses back to the same problem",
            got=f"{parsed!r} instead of {problem!r}",
            remedy="Write it with plain symbols and numbers.",
        )
    return text


def _names(problem: Problem) -> str:
    return ", ".join(str(u.func) for u in problem.unknowns)


def _status(header: Record) -> Status:
    name = current_name(header.text("status"))
    if name not in Status.__members__:
        raise header.error_at("status", f"one of {', '.join(Status.__members__)}")
    if Status[name] is Status.UNSTABLE and "growth" not in header.record("notes").values:
        raise header.error_at("notes", "growth, which the status UNSTABLE requires")
    return Status[name]


def _residuals(header: Record) -> dict[str, Norms]:
    found = header.records("residuals")
    out = {r.text("name"): Norms(r.number("max"), r.number("rms"), r.number("relative")) for r in found}
    if not out or len(out) != len(found):
        raise damaged_file(
            header.file, "residuals with unique names", f"{len(out)} different of {len(found)}"
        )
    return out
