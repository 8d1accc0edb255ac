"""TOML → `Problem`: a problem without a line of Python.

    title = "Poisson on a square"
    unknowns = ["u"]
    equations = ["laplacian(u) = -k"]

    [domain]
    x = [0, 1]
    y = [0, "2*pi"]

    [parameters]
    k = 2.5

    [[conditions]]
    dirichlet = "u"
    value = 0

Numbers are exact: 0.1 is 1/10. Every error names the file, the line and the column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any

import sympy as sp

from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.io.data_file import DataEntry, FitWish, read_entries, read_fit
from pibls.io.document import MAX_FILE, Document, document
from pibls.io.parameters import Noted, Parameters, check_new, read_parameters
from pibls.io.places import Path
from pibls.io.settings import read_outputs, read_settings
from pibls.io.space import TextSpace, read_space
from pibls.io.statements import Texts, check_count, read_conditions, read_equations
from pibls.problem import Problem
from pibls.text import Names
from pibls.text.effort import ExhaustedError, limited
from pibls.text.pointing import printable

SECTIONS = ("title", "unknowns", "equations", "domain", "time", "shapes", "parameters", "definitions",
            "conditions", "data", "fit", "solve", "output", "names", "assumptions")  # fmt: skip

MAX_FILE_EFFORT = 600_000
"""Units of work (`text.effort`) for a whole file with all its texts; what people write takes a hundredth."""


@dataclass(frozen=True)
class ProblemFile:
    """A problem, and how the file wants it solved.

    ``pibls.solve(file.problem, **file.settings)`` does what the file says.
    """

    problem: Problem
    title: str = ""
    tol: float = 1e-10
    seed: int = 0
    max_nodes: int = 4000
    time_limit: float | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)
    """What to write (`OUTPUTS`) → relative file name."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Name → SymPy number, as given by the file or overridden."""
    data: tuple[DataEntry, ...] = ()
    """What [[data]] says was measured."""
    fit: FitWish = field(default_factory=FitWish)
    """What [fit] wants to know."""

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments of `pibls.solve`."""
        return {
            "tol": self.tol,
            "seed": self.seed,
            "max_nodes": self.max_nodes,
            "time_limit": self.time_limit,
        }


def read_problem(
    path: str | FilePath,
    *,
    parameters: Mapping[str, Any] | None = None,
    functions: Mapping[str, PointFunction] | None = None,
    stand_ins: bool = False,
) -> ProblemFile:
    """The problem of a TOML file; the arguments are those of `parse_problem`."""
    file = FilePath(path)
    try:
        with open(file, "rb") as stream:
            data = stream.read(4 * MAX_FILE + 1)  # so much and no more: it may be a pipe without an end
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as problem:
        reason = problem.strerror or "it cannot be read"
        raise ProblemError(
            str(path), expected="a file that can be read", got=reason, remedy="Check the name."
        ) from None
    except UnicodeDecodeError as problem:
        raise ProblemError(
            str(path),
            expected="text in UTF-8",
            got=f"the byte {data[problem.start]:#04x} at {problem.start}",
            remedy="Save the file as plain text.",
        ) from None
    return parse_problem(
        text, file=str(path), parameters=parameters, functions=functions, stand_ins=stand_ins
    )


def parse_problem(
    text: str,
    *,
    file: str = "problem.toml",
    parameters: Mapping[str, Any] | None = None,
    functions: Mapping[str, PointFunction] | None = None,
    stand_ins: bool = False,
) -> ProblemFile:
    """The problem of a TOML text.

    Parameters
    ----------
    text
        The text of the file.
    file
        Its name, for messages.
    parameters
        Values (numbers or text) instead of those in [parameters].
    functions
        The Python functions that the text names as ``python(name, x)``: a file holds no code.
    stand_ins
        Put a function that raises in the place of one that was not given, so that a problem can be
        looked at, though not solved.

    >>> parse_problem('''
    ... equations = ["u_xx = -1"]
    ... domain = { x = [0, 1] }
    ... conditions = [{ dirichlet = "u", value = 0 }]
    ... ''').problem
    <Problem: linear, u(x), on Interval(x, 0, 1), 1 condition(s)>
    """
    doc = document(text, file)
    try:
        with limited(MAX_FILE_EFFORT):
            return _read(doc, text, parameters or {}, functions or {}, stand_ins)
    except (ExhaustedError, RecursionError, MemoryError):
        raise ProblemError(
            doc.file,
            expected="a problem that can be read in a moment",
            got="one that takes too long",
            remedy="Write it more simply: high powers of long sums, and many of them, are slow.",
        ) from None


def _read(
    doc: Document,
    text: str,
    parameters: Mapping[str, Any],
    functions: Mapping[str, PointFunction],
    stand_ins: bool,
) -> ProblemFile:
    doc.table((), doc.values, SECTIONS)
    given = {**(_stand_ins(text) if stand_ins else {}), **functions}
    parts = read_parameters(doc, parameters)
    values = Noted(parts.values)
    space = read_space(doc, Texts(doc, Names({}, values=values)).constant)
    problem = _parametric(doc, space, parts.without(values.asked), given)
    measured: tuple[DataEntry, ...] = ()
    if "data" in doc.values:
        measured = read_entries(doc, Texts(doc, _names_of(doc, space, parts, problem, given)), problem)
    return ProblemFile(
        problem,
        title=printable(doc.string(("title",), doc.values.get("title", ""))),
        outputs=MappingProxyType(read_outputs(doc)),
        parameters=MappingProxyType(parts.values),
        data=measured,
        fit=read_fit(doc),
        **read_settings(doc),
    )


def _parametric(
    doc: Document, space: TextSpace, parameters: Parameters, functions: Mapping[str, PointFunction]
) -> Problem:
    """The problem with its free parameters as symbols; those that say where it holds are numbers.

    Where a text needs a number, as mod(x, k) does, and for every error, all of them are numbers.
    """
    numbers = _with_definitions(doc, space, parameters.values, functions)
    if not parameters.free:
        return _problem(doc, space, Texts(doc, numbers), {})
    try:
        symbols = {n: space.parameter(n) for n in parameters.free}
        known = dict(parameters.values) | symbols
        for name, text in parameters.texts.items():
            known[name] = Texts(doc, Names({}, values=known)).scalar(("parameters", name), text)
        names = _with_definitions(doc, space, known, functions)
        places = Noted(numbers.values)
        there = replace(numbers, values=places)
        values = {s: parameters.values[n] for n, s in symbols.items()}
        problem = _problem(doc, space, Texts(doc, names, there), values)
    except ProblemError:
        return _parametric(doc, space, replace(parameters, free=()), functions)
    where = sp.Tuple(*(names.values[n] for n in places.asked)).free_symbols
    late = {n for n, s in symbols.items() if s in where}
    return _parametric(doc, space, parameters.without(late), functions) if late else problem


def _names_of(
    doc: Document,
    space: TextSpace,
    parameters: Parameters,
    problem: Problem,
    functions: Mapping[str, PointFunction],
) -> Names:
    """The names of a problem that was read, with its parameters as symbols."""
    known = dict(parameters.values) | {str(s): s for s in problem.parameters}
    for name, text in parameters.texts.items():
        known[name] = Texts(doc, Names({}, values=known)).scalar(("parameters", name), text)
    return _with_definitions(doc, space, known, functions)


def _with_definitions(
    doc: Document, space: TextSpace, values: dict[str, Any], functions: Mapping[str, PointFunction]
) -> Names:
    """The names, with abbreviations that may use everything before them."""
    base = space.names
    table = doc.table(("definitions",), doc.values.get("definitions", {}))
    known = dict(values)
    for path, name in [(("parameters", n), n) for n in values]:
        check_new(doc, path, name, [*base.coordinates, *base.unknowns])
        _names(doc, path, base, {name: values[name]}, functions)
    check_count(doc, ("definitions",), table)
    for name, value in table.items():
        path = ("definitions", name)
        check_new(doc, path, name, [*base.coordinates, *base.unknowns, *known])
        names = _names(doc, path, base, known, functions)
        known[name] = Texts(doc, names).expression(path, value)
        _names(doc, path, base, known, functions)  # whatever is wrong with the name is wrong here
    return _names(doc, ("definitions",), base, known, functions)


def _names(
    doc: Document, path: Path, base: Names, values: dict[str, Any], functions: Mapping[str, PointFunction]
) -> Names:
    with doc.at(path, key=True):
        return Names(base.coordinates, base.unknowns, base.time, dict(values), functions, base.places)


def _problem(doc: Document, space: TextSpace, texts: Texts, parameters: dict[Any, Any]) -> Problem:
    equations = read_equations(texts)
    conditions = read_conditions(texts, space)
    used = {s: v for s, v in parameters.items() if s in _symbols_of(equations, conditions)}
    try:
        problem = Problem(space.domain, [e for _, e in equations], [c for _, c in conditions], used)
    except ProblemError as error:
        raise doc.within(error, _origin(error, equations, conditions)) from None
    for i, (name, unknown) in enumerate(space.names.unknowns.items()):
        if unknown not in problem.unknowns:
            remedy = f"Add an equation for {name}, or leave it out."
            raise doc.refusal(("unknowns", i), "unknowns that stand in an equation", name, remedy)
    return problem


def _symbols_of(equations: list[tuple[Path, Any]], conditions: list[tuple[Path, Any]]) -> set[Any]:
    out: set[Any] = set()
    for _, statement in (*equations, *conditions):
        parts = [statement, *vars(statement).values()] if not isinstance(statement, sp.Basic) else [statement]
        out |= {s for p in parts if isinstance(p, sp.Basic) for s in p.free_symbols}
    return out


def _origin(
    error: ProblemError, equations: list[tuple[Path, Any]], conditions: list[tuple[Path, Any]]
) -> Path:
    """The part of the file that an error of `Problem` speaks of."""
    labels = [(c.label, path) for path, c in conditions]
    labels += [(f"equation {i + 1}", path) for i, (path, _) in enumerate(equations)]
    labels += [(("equation" if len(equations) == 1 else "equations"), equations[0][0])]
    labels += [("conditions", ("conditions",)), ("domain", ("domain",))]
    matching = [(len(label), path) for label, path in labels if error.argument.startswith(label)]
    return max(matching, key=lambda m: m[0])[1] if matching else ("equations",)


def _stand_ins(text: str) -> dict[str, PointFunction]:
    return {name: _absent(name) for name in re.findall(r"python\(([A-Za-z][A-Za-z0-9_]{0,63})", text)}


def _absent(name: str) -> PointFunction:
    def absent(*coordinates: Any) -> Any:
        raise ProblemError(
            f"python({name})",
            expected="the Python function of this name",
            got="a stand-in, since a file holds no code",
            remedy=f'Read the problem with functions={{"{name}": …}}.',
        )

    absent.__name__ = name
    return absent
