"""Reading of problem files: a `Problem` and its settings from TOML.

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
from typing import TYPE_CHECKING, Any, NoReturn

import sympy as sp

from pibls.arrays import Array, PointFunction
from pibls.errors import ProblemError
from pibls.expressions import Equation, Number, Parameter
from pibls.io.data_file import DataEntry, FitSettings, read_entries, read_fit
from pibls.io.domain_reader import DomainContext, read_domain
from pibls.io.offsets import KeyPath
from pibls.io.parameters import AccessRecorder, Parameters, check_new, read_parameters
from pibls.io.solve_output_sections import read_outputs, read_settings
from pibls.io.statements import ExpressionReader, check_entry_count, read_conditions, read_equations
from pibls.io.toml_document import MAX_FILE, Document, parse_document
from pibls.problem import Problem
from pibls.text import Names
from pibls.text.errors import printable
from pibls.text.names import Value
from pibls.text.work_budget import BudgetExceededError, work_limit

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition

SECTIONS = ("title", "unknowns", "equations", "domain", "time", "shapes", "parameters", "definitions",
            "conditions", "data", "fit", "solve", "output", "names", "assumptions")  # fmt: skip

MAX_FILE_WORK = 600_000
"""Work units (`text.work_budget`) for all texts of a file; files written by hand take a hundredth of it."""


@dataclass(frozen=True)
class ProblemFile:
    """A problem and the settings of its file.

    ``pibls.solve(file.problem, **file.settings)`` solves it as the file specifies.
    """

    problem: Problem
    title: str = ""
    tol: float = 1e-10
    seed: int = 0
    max_nodes: int = 4000
    time_limit: float | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Kind of output (`OUTPUTS`) → relative path."""
    parameters: Mapping[str, Number] = field(default_factory=dict)
    """Name → SymPy number, from the file or overridden."""
    data: tuple[DataEntry, ...] = ()
    """The entries of [[data]]."""
    fit: FitSettings = field(default_factory=FitSettings)
    """The section [fit]."""

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
    parameters: Mapping[str, Number | str] | None = None,
    functions: Mapping[str, PointFunction] | None = None,
    stand_ins: bool = False,
) -> ProblemFile:
    """Read a problem file; the arguments are those of `parse_problem`."""
    file = FilePath(path)
    try:
        with open(file, "rb") as stream:
            data = stream.read(4 * MAX_FILE + 1)  # bounded: it may be a pipe without end
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as problem:
        reason = problem.strerror or "it cannot be read"
        raise ProblemError(
            str(path), expected="a file that can be read", got=reason, remedy="Check the path."
        ) from None
    except UnicodeDecodeError as problem:
        raise ProblemError(
            str(path),
            expected="UTF-8 text",
            got=f"the byte {data[problem.start]:#04x} at offset {problem.start}",
            remedy="Save the file as UTF-8 text.",
        ) from None
    return parse_problem(
        text, file=str(path), parameters=parameters, functions=functions, stand_ins=stand_ins
    )


def parse_problem(
    text: str,
    *,
    file: str = "problem.toml",
    parameters: Mapping[str, Number | str] | None = None,
    functions: Mapping[str, PointFunction] | None = None,
    stand_ins: bool = False,
) -> ProblemFile:
    """Parse the TOML text of a problem file.

    Parameters
    ----------
    text
        The text of the file.
    file
        Its name, for messages.
    parameters
        Values (numbers or text) that override those in [parameters].
    functions
        The Python functions that the text names as ``python(name, x)``; a file contains no code.
    stand_ins
        Replace functions that were not given by placeholders that raise an error when called, so that the
        problem can be inspected, though not solved.

    >>> parse_problem('''
    ... equations = ["u_xx = -1"]
    ... domain = { x = [0, 1] }
    ... conditions = [{ dirichlet = "u", value = 0 }]
    ... ''').problem
    <Problem: linear, u(x), on Interval(x, 0, 1), 1 condition(s)>
    """
    doc = parse_document(text, file)
    try:
        with work_limit(MAX_FILE_WORK):
            return _build_file(doc, text, parameters or {}, functions or {}, stand_ins)
    except (BudgetExceededError, RecursionError, MemoryError):
        raise ProblemError(
            doc.file,
            expected="a problem that can be built quickly",
            got="one that takes too long to build",
            remedy="Simplify it: high powers of long sums are slow.",
        ) from None


def _build_file(
    doc: Document,
    text: str,
    parameters: Mapping[str, Number | str],
    functions: Mapping[str, PointFunction],
    stand_ins: bool,
) -> ProblemFile:
    doc.table((), doc.values, SECTIONS)
    given = {**(_placeholders(text) if stand_ins else {}), **functions}
    declared = read_parameters(doc, parameters)
    values = AccessRecorder(declared.values)
    space = read_domain(doc, ExpressionReader(doc, Names({}, values=values)).constant)
    problem = _parametric(doc, space, declared.without(values.accessed), given)
    measured: tuple[DataEntry, ...] = ()
    if "data" in doc.values:
        measured = read_entries(
            doc, ExpressionReader(doc, _names_of(doc, space, declared, problem, given)), problem
        )
    return ProblemFile(
        problem,
        title=printable(doc.string(("title",), doc.values.get("title", ""))),
        outputs=MappingProxyType(read_outputs(doc)),
        parameters=MappingProxyType(declared.values),
        data=measured,
        fit=read_fit(doc),
        **read_settings(doc),
    )


def _parametric(
    doc: Document, space: DomainContext, parameters: Parameters, functions: Mapping[str, PointFunction]
) -> Problem:
    """Build the problem with its free parameters as symbols, except those in the domain and in ``on``.

    If a text needs a number, as in mod(x, k), or an error occurs, all parameters are replaced by numbers.
    """
    numbers = _with_definitions(doc, space, parameters.values, functions)
    if not parameters.free:
        return _problem(doc, space, ExpressionReader(doc, numbers), {})
    try:
        symbols = {n: space.parameter(n) for n in parameters.free}
        known = dict(parameters.values) | symbols
        for name, text in parameters.texts.items():
            known[name] = ExpressionReader(doc, Names({}, values=known)).scalar(("parameters", name), text)
        names = _with_definitions(doc, space, known, functions)
        values_in_places = AccessRecorder(numbers.values)
        numeric_names = replace(numbers, values=values_in_places)
        values = {s: parameters.values[n] for n, s in symbols.items()}
        problem = _problem(doc, space, ExpressionReader(doc, names, numeric_names), values)
    except ProblemError:
        return _parametric(doc, space, replace(parameters, free=()), functions)
    symbols_in_places = sp.Tuple(*(names.values[n] for n in values_in_places.accessed)).free_symbols
    used_in_places = {n for n, s in symbols.items() if s in symbols_in_places}
    return (
        _parametric(doc, space, parameters.without(used_in_places), functions) if used_in_places else problem
    )


def _names_of(
    doc: Document,
    space: DomainContext,
    parameters: Parameters,
    problem: Problem,
    functions: Mapping[str, PointFunction],
) -> Names:
    """Return the names of a problem that was built, with its parameters as symbols."""
    known = dict(parameters.values) | {str(s): s for s in problem.parameters}
    for name, text in parameters.texts.items():
        known[name] = ExpressionReader(doc, Names({}, values=known)).scalar(("parameters", name), text)
    return _with_definitions(doc, space, known, functions)


def _with_definitions(
    doc: Document, space: DomainContext, values: dict[str, Value], functions: Mapping[str, PointFunction]
) -> Names:
    """Return the names extended by [definitions], each of which may use those before it."""
    base = space.names
    table = doc.table(("definitions",), doc.values.get("definitions", {}))
    known = dict(values)
    for path, name in [(("parameters", n), n) for n in values]:
        check_new(doc, path, name, [*base.coordinates, *base.unknowns])
        _names(doc, path, base, {name: values[name]}, functions)
    check_entry_count(doc, ("definitions",), table)
    for name, value in table.items():
        path = ("definitions", name)
        check_new(doc, path, name, [*base.coordinates, *base.unknowns, *known])
        names = _names(doc, path, base, known, functions)
        known[name] = ExpressionReader(doc, names).expression(path, value)
        _names(doc, path, base, known, functions)  # reports an invalid name at its definition
    return _names(doc, ("definitions",), base, known, functions)


def _names(
    doc: Document,
    path: KeyPath,
    base: Names,
    values: dict[str, Value],
    functions: Mapping[str, PointFunction],
) -> Names:
    with doc.locate_errors(path, key=True):
        return Names(
            base.coordinates, base.unknowns, base.time, dict(values), functions, base.inside_relations
        )


def _problem(
    doc: Document, space: DomainContext, reader: ExpressionReader, parameters: dict[Parameter, Number]
) -> Problem:
    equations = read_equations(reader)
    conditions = read_conditions(reader, space)
    used = {s: v for s, v in parameters.items() if s in _symbols_of(equations, conditions)}
    try:
        problem = Problem(space.domain, [e for _, e in equations], [c for _, c in conditions], used)
    except ProblemError as error:
        raise doc.located_error(error, _path_of_error(error, equations, conditions)) from None
    for i, (name, unknown) in enumerate(space.names.unknowns.items()):
        if unknown not in problem.unknowns:
            remedy = f"Add an equation for {name}, or remove it."
            raise doc.error_at(("unknowns", i), "unknowns that occur in an equation", name, remedy)
    return problem


def _symbols_of(
    equations: list[tuple[KeyPath, Equation]], conditions: list[tuple[KeyPath, BaseCondition]]
) -> set[Parameter]:
    out: set[Parameter] = set()
    for _, statement in (*equations, *conditions):
        declared = (
            [statement, *vars(statement).values()] if not isinstance(statement, sp.Basic) else [statement]
        )
        out |= {s for p in declared if isinstance(p, sp.Basic) for s in p.free_symbols}
    return out


def _path_of_error(
    error: ProblemError,
    equations: list[tuple[KeyPath, Equation]],
    conditions: list[tuple[KeyPath, BaseCondition]],
) -> KeyPath:
    """Return the path in the file that an error of `Problem` refers to."""
    labels = [(c.label, path) for path, c in conditions]
    labels += [(f"equation {i + 1}", path) for i, (path, _) in enumerate(equations)]
    labels += [(("equation" if len(equations) == 1 else "equations"), equations[0][0])]
    labels += [("conditions", ("conditions",)), ("domain", ("domain",))]
    matching = [(len(label), path) for label, path in labels if error.argument.startswith(label)]
    return max(matching, key=lambda m: m[0])[1] if matching else ("equations",)


def _placeholders(text: str) -> dict[str, PointFunction]:
    return {name: _placeholder(name) for name in re.findall(r"python\(([A-Za-z][A-Za-z0-9_]{0,63})", text)}


def _placeholder(name: str) -> PointFunction:
    def placeholder(*coordinates: Array) -> NoReturn:
        raise ProblemError(
            f"python({name})",
            expected="the Python function of this name",
            got="a placeholder, since a file contains no code",
            remedy=f'Read the problem with functions={{"{name}": …}}.',
        )

    placeholder.__name__ = name
    return placeholder
