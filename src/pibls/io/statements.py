"""Reading of equations and [[conditions]], each with its path in the document."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Equation, Expression, Number
from pibls.io.domain_reader import DomainContext
from pibls.io.offsets import KeyPath
from pibls.io.toml_document import Document, TomlValue, describe
from pibls.problem import Condition, Dirichlet, Initial, Neumann, Periodic, Robin
from pibls.problem.arguments import Place
from pibls.text import Names, did_you_mean, parse_equations, parse_expression, parse_relation
from pibls.text.names import Value

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition

MAX_STATEMENTS = 200
"""Maximum number of equations, and of conditions."""

CONDITION_KINDS: dict[str, tuple[str, ...]] = {
    "dirichlet": ("value", "on"),
    "neumann": ("value", "on"),
    "robin": ("alpha", "beta", "value", "on"),
    "periodic": ("coordinate",),
    "initial": ("value",),
    "equation": ("on",),
}
"""Kind of condition → its other keys, of which only ``on`` is optional."""


@dataclass(frozen=True)
class ExpressionReader:
    """Reads the expressions of a document."""

    doc: Document
    names: Names
    numeric_names: Names | None = None
    """The names where numbers are needed, as in ``on``, with values for parameters."""

    @property
    def numeric(self) -> ExpressionReader:
        """The reader where numbers are needed."""
        return self if self.numeric_names is None else ExpressionReader(self.doc, self.numeric_names)

    def expression(self, path: KeyPath, value: TomlValue) -> Value:
        """Read a number, or text with an expression or vector."""
        if isinstance(value, bool) or not isinstance(value, (int, Decimal, str)):
            raise self.doc.error_at(
                path, "a number, or an expression in quotes", describe(value), 'Write 0.5, or "sin(x)".'
            )
        if isinstance(value, int) and value.bit_length() > 1024:
            raise self.doc.error_at(path, "a number below 1e308", "a larger one", "Rescale it.")
        if isinstance(value, Decimal) and not value.is_finite():
            raise self.doc.error_at(path, "a finite number", str(value), "Write a finite number.")
        with self.doc.locate_errors(path):
            return parse_expression(str(value), self.names, argument=self.doc.name(path))

    def scalar(self, path: KeyPath, value: TomlValue) -> Expression:
        """Read a number, or text with a scalar expression."""
        found = self.expression(path, value)
        if isinstance(found, tuple):
            raise self.doc.error_at(path, "a scalar", "a vector", "Write one component.")
        return found

    def constant(self, path: KeyPath, value: TomlValue) -> Number:
        """Read a number, or text that evaluates to one."""
        found = self.scalar(path, value)
        if found.free_symbols:
            got = ", ".join(sorted(map(str, found.free_symbols)))
            raise self.doc.error_at(
                path, "a constant", f"an expression with {got}", "Write it without coordinates."
            )
        return found

    def equations(self, path: KeyPath, value: TomlValue) -> tuple[Equation, ...]:
        """Read an equation; returns one per component of a vector equation."""
        text = self.doc.string(path, value)
        with self.doc.locate_errors(path):
            return parse_equations(text, self.names, argument=self.doc.name(path))

    def value(self, path: KeyPath, value: TomlValue) -> Expression:
        """Read the value of a condition: an expression, or a Python function of the coordinates."""
        if isinstance(value, str):
            name = value.strip().removeprefix("python(").removesuffix(")").strip()
            if value.strip() == f"python({name})" and name in self.names.functions:
                return self.names.functions[name]
        return self.scalar(path, value)


def read_equations(reader: ExpressionReader) -> list[tuple[KeyPath, Equation]]:
    """Read the equations of a document."""
    doc, given = reader.doc, reader.doc.values.get("equations")
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, list) or not items:
        remedy = 'Write equations = ["laplacian(u) = 0"] at the top of the file.'
        raise doc.error_at(
            ("equations",), "a list of equations", "none" if given is None else describe(given), remedy
        )
    check_entry_count(doc, ("equations",), items)
    out: list[tuple[KeyPath, Equation]] = []
    for i, text in enumerate(items):
        path: KeyPath = ("equations",) if isinstance(given, str) else ("equations", i)
        out += [(path, equation) for equation in reader.equations(path, text)]
    return out


def read_conditions(reader: ExpressionReader, space: DomainContext) -> list[tuple[KeyPath, BaseCondition]]:
    """Read the conditions of a document."""
    doc, items = reader.doc, reader.doc.values.get("conditions")
    if not isinstance(items, list) or not items:
        remedy = 'Write [[conditions]], dirichlet = "u" and value = 0 on three lines.'
        raise doc.error_at(
            ("conditions",), "at least one condition", "none" if items is None else describe(items), remedy
        )
    check_entry_count(doc, ("conditions",), items)
    out: list[tuple[KeyPath, BaseCondition]] = []
    for i, item in enumerate(items):
        path: KeyPath = ("conditions", i)
        with doc.locate_errors(path):
            out += [(path, c) for c in _condition(reader, space, path, doc.table(path, item))]
    return out


def check_entry_count(doc: Document, path: KeyPath, items: Sized) -> None:
    """Check that a list does not exceed `MAX_STATEMENTS` entries."""
    if len(items) > MAX_STATEMENTS:
        raise doc.error_at(path, f"at most {MAX_STATEMENTS} entries", f"{len(items)}", "Remove some.")


def _condition(
    reader: ExpressionReader, space: DomainContext, path: KeyPath, table: Mapping[str, TomlValue]
) -> list[BaseCondition]:
    doc, kind = reader.doc, _condition_kind(reader.doc, path, table)
    on = _read_on(reader, space, (*path, "on"), table.get("on"))
    if kind == "equation":
        return [Condition(e, on) for e in reader.equations((*path, kind), table[kind])]
    subject = reader.scalar((*path, kind), doc.string((*path, kind), table[kind]))
    if kind == "periodic":
        return [Periodic(subject, _coordinate(reader, (*path, "coordinate"), table["coordinate"]))]
    value = reader.value((*path, "value"), table["value"])
    if kind == "initial":
        return [Initial(subject, value)]
    if kind == "robin":
        alpha, beta = (reader.value((*path, k), table[k]) for k in ("alpha", "beta"))
        return [Robin(subject, value, alpha, beta, on)]
    return [(Dirichlet if kind == "dirichlet" else Neumann)(subject, value, on)]


def _condition_kind(doc: Document, path: KeyPath, table: Mapping[str, TomlValue]) -> str:
    """Return the kind of a condition, after checking that its table has the keys of that kind."""
    kinds = [k for k in CONDITION_KINDS if k in table]
    if len(kinds) != 1:
        raise _ambiguous_kind(doc, path, table, kinds)
    kind = kinds[0]
    doc.table(path, table, (kind, *CONDITION_KINDS[kind]))
    for needed in CONDITION_KINDS[kind]:
        if needed != "on" and needed not in table:
            raise doc.error_at(path, f"{needed} in a {kind} condition", "none", f"Add {needed} = …", key=True)
    return kind


def _ambiguous_kind(
    doc: Document, path: KeyPath, table: Mapping[str, TomlValue], kinds: list[str]
) -> ProblemError:
    """Return the error for a condition with no kind or several, with a suggestion for a misspelled one."""
    suggestions = {k: did_you_mean(k, CONDITION_KINDS) for k in table if k not in CONDITION_KINDS}
    misspelled = [k for k, suggestion in suggestions.items() if suggestion]
    suggestion = suggestions[misspelled[0]] if misspelled else ""
    return doc.error_at(
        (*path, misspelled[0]) if misspelled and not kinds else path,
        f"one kind of condition ({', '.join(CONDITION_KINDS)})",
        " and ".join(kinds) or ", ".join(list(table)[:5]) or "nothing",
        f"{suggestion}Write one kind per condition.",
        key=True,
    )


def _coordinate(reader: ExpressionReader, path: KeyPath, value: TomlValue) -> Coordinate:
    """Read the name of a coordinate."""
    name, known = reader.doc.string(path, value), reader.names.coordinates
    if name not in known:
        remedy = did_you_mean(name, known) + f"Coordinates are {', '.join(known)}."
        raise reader.doc.error_at(path, "a coordinate", f"'{name[:64]}'", remedy)
    return known[name]


def _python_number(number: Expression) -> Number:
    """Return an int or float if it equals the SymPy number; else the number itself."""
    if isinstance(number, sp.Integer):
        return int(number)
    return float(number) if isinstance(number, sp.Float) and float(number) == number else number


def _read_on(reader: ExpressionReader, space: DomainContext, path: KeyPath, value: TomlValue) -> Place:
    """Read ``on``: absent, a relation, a point { x = 0, y = 0 }, or the name of a shape."""
    doc, coordinates = reader.doc, reader.names.coordinates
    if value is None:
        return None
    if isinstance(value, dict):
        doc.table(path, value, coordinates)
        return {
            coordinates[k]: _python_number(reader.numeric.constant((*path, k), v)) for k, v in value.items()
        }
    text = doc.string(path, value)
    if text.strip() in space.shapes:
        return space.shapes[text.strip()]
    try:
        relation = parse_relation(text, reader.numeric.names, argument=doc.name(path))
    except ProblemError as error:
        if text.strip().isidentifier() and text.strip() not in ("true", "false"):
            known = ", ".join(space.shapes)
            raise doc.error_at(
                path,
                f"a relation such as x = 0, or a shape ({known})",
                text.strip()[:64],
                "Write a comparison.",
            ) from None
        raise doc.located_error(error, path) from None
    other_symbols = relation.free_symbols - set(coordinates.values())
    if other_symbols or relation.atoms(sp.Function) & set(reader.names.unknowns.values()):
        raise doc.error_at(
            path, "a relation over the coordinates", "one with an unknown", "Use coordinates only."
        )
    return relation
