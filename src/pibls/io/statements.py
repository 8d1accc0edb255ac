"""equations and [[conditions]] → what `Problem` takes, each with the path that it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sympy as sp

from pibls.errors import ProblemError
from pibls.io.document import Document, kind_of
from pibls.io.places import Path
from pibls.io.space import TextSpace
from pibls.problem import Condition, Dirichlet, Initial, Neumann, Periodic, Robin
from pibls.text import Names, nearest, parse_equations, parse_expression, parse_relation

MAX_STATEMENTS = 200
"""Equations, and conditions."""

KINDS: dict[str, tuple[str, ...]] = {
    "dirichlet": ("value", "on"),
    "neumann": ("value", "on"),
    "robin": ("alpha", "beta", "value", "on"),
    "periodic": ("coordinate",),
    "initial": ("value",),
    "equation": ("on",),
}
"""The kinds of conditions, and what else each of them says; only ``on`` may be left out."""


@dataclass(frozen=True)
class Texts:
    """Reads the values of a document in its names."""

    doc: Document
    names: Names
    places: Names | None = None
    """The names where a number is needed, as in ``on``: parameters by their values."""

    @property
    def fixed(self) -> Texts:
        """Reads where a number is needed."""
        return self if self.places is None else Texts(self.doc, self.places)

    def expression(self, path: Path, value: Any) -> Any:
        """A number, or text that is one expression or vector."""
        if isinstance(value, bool) or not isinstance(value, (int, Decimal, str)):
            raise self.doc.refusal(
                path, "a number, or text in quotes", kind_of(value), 'Write 0.5, or "sin(x)".'
            )
        if isinstance(value, int) and value.bit_length() > 1024:
            raise self.doc.refusal(path, "a number below 1e308", "a longer one", "Write a shorter one.")
        if isinstance(value, Decimal) and not value.is_finite():
            raise self.doc.refusal(path, "a finite number", str(value), "Write a number.")
        with self.doc.at(path):
            return parse_expression(str(value), self.names, argument=self.doc.name(path))

    def scalar(self, path: Path, value: Any) -> Any:
        """A number, or text that is one expression."""
        found = self.expression(path, value)
        if isinstance(found, tuple):
            raise self.doc.refusal(path, "one value", "a vector", "Write one component.")
        return found

    def constant(self, path: Path, value: Any) -> Any:
        """A number, or text that is one."""
        found = self.scalar(path, value)
        if found.free_symbols:
            got = ", ".join(sorted(map(str, found.free_symbols)))
            raise self.doc.refusal(
                path, "a constant", f"something with {got}", "Coordinates have no value here."
            )
        return found

    def equations(self, path: Path, value: Any) -> tuple[Any, ...]:
        """One equation, or one for each component."""
        text = self.doc.string(path, value)
        with self.doc.at(path):
            return parse_equations(text, self.names, argument=self.doc.name(path))

    def value(self, path: Path, value: Any) -> Any:
        """The value of a condition: an expression, or a Python function of the coordinates."""
        if isinstance(value, str):
            name = value.strip().removeprefix("python(").removesuffix(")").strip()
            if value.strip() == f"python({name})" and name in self.names.functions:
                return self.names.functions[name]
        return self.scalar(path, value)


def read_equations(texts: Texts) -> list[tuple[Path, Any]]:
    """The equations of a document."""
    doc, given = texts.doc, texts.doc.values.get("equations")
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, list) or not items:
        remedy = 'Write equations = ["laplacian(u) = 0"] at the top of the file.'
        raise doc.refusal(
            ("equations",), "a list of equations", "none" if given is None else kind_of(given), remedy
        )
    check_count(doc, ("equations",), items)
    out: list[tuple[Path, Any]] = []
    for i, text in enumerate(items):
        path: Path = ("equations",) if isinstance(given, str) else ("equations", i)
        out += [(path, equation) for equation in texts.equations(path, text)]
    return out


def read_conditions(texts: Texts, space: TextSpace) -> list[tuple[Path, Any]]:
    """The conditions of a document."""
    doc, items = texts.doc, texts.doc.values.get("conditions")
    if not isinstance(items, list) or not items:
        remedy = 'Write [[conditions]], dirichlet = "u", value = 0, on three lines.'
        raise doc.refusal(
            ("conditions",), "at least one condition", "none" if items is None else kind_of(items), remedy
        )
    check_count(doc, ("conditions",), items)
    out: list[tuple[Path, Any]] = []
    for i, item in enumerate(items):
        path: Path = ("conditions", i)
        with doc.at(path):
            out += [(path, c) for c in _condition(texts, space, path, doc.table(path, item))]
    return out


def check_count(doc: Document, path: Path, items: Sized) -> None:
    """So many are read, and no more: each takes a moment."""
    if len(items) > MAX_STATEMENTS:
        raise doc.refusal(path, f"at most {MAX_STATEMENTS}", f"{len(items)}", "Write fewer.")


def _condition(texts: Texts, space: TextSpace, path: Path, table: Mapping[str, Any]) -> list[Any]:
    doc = texts.doc
    kinds = [k for k in KINDS if k in table]
    if len(kinds) != 1:
        strange = next((nearest(k, KINDS) for k in table if k not in KINDS and nearest(k, KINDS)), "")
        got = " and ".join(kinds) or ", ".join(list(table)[:5]) or "nothing"
        misspelt = [k for k in table if k not in KINDS and nearest(k, KINDS)]
        place = (*path, misspelt[0]) if misspelt and not kinds else path
        raise doc.refusal(
            place,
            f"one kind of condition ({', '.join(KINDS)})",
            got,
            f"{strange}Name one kind in each.",
            key=True,
        )
    kind = kinds[0]
    doc.table(path, table, (kind, *KINDS[kind]))
    for needed in KINDS[kind]:
        if needed != "on" and needed not in table:
            raise doc.refusal(
                path, f"{needed} in a {kind} condition", "none", f"Write {needed} = …", key=True
            )
    on = _place(texts, space, (*path, "on"), table.get("on"))
    if kind == "equation":
        return [Condition(e, on) for e in texts.equations((*path, kind), table[kind])]
    subject = texts.scalar((*path, kind), doc.string((*path, kind), table[kind]))
    if kind == "periodic":
        name = doc.string((*path, "coordinate"), table["coordinate"])
        if name not in texts.names.coordinates:
            remedy = nearest(name, texts.names.coordinates) + f"Valid: {', '.join(texts.names.coordinates)}."
            raise doc.refusal((*path, "coordinate"), "a coordinate", f"'{name[:64]}'", remedy)
        return [Periodic(subject, texts.names.coordinates[name])]
    value = texts.value((*path, "value"), table["value"])
    if kind == "initial":
        return [Initial(subject, value)]
    if kind == "robin":
        alpha, beta = (texts.value((*path, k), table[k]) for k in ("alpha", "beta"))
        return [Robin(subject, value, alpha, beta, on)]
    return [(Dirichlet if kind == "dirichlet" else Neumann)(subject, value, on)]


def _level(number: Any) -> Any:
    """Python's own numbers where they say the same, as most people write a point."""
    if isinstance(number, sp.Integer):
        return int(number)
    return float(number) if isinstance(number, sp.Float) and float(number) == number else number


def _place(texts: Texts, space: TextSpace, path: Path, value: Any) -> Any:
    """Where: nothing, a relation, a point { x = 0, y = 0 }, or the name of a shape."""
    doc, coordinates = texts.doc, texts.names.coordinates
    if value is None:
        return None
    if isinstance(value, dict):
        doc.table(path, value, coordinates)
        return {coordinates[k]: _level(texts.fixed.constant((*path, k), v)) for k, v in value.items()}
    text = doc.string(path, value)
    if text.strip() in space.shapes:
        return space.shapes[text.strip()]
    try:
        relation = parse_relation(text, texts.fixed.names, argument=doc.name(path))
    except ProblemError as error:
        if text.strip().isidentifier() and text.strip() not in ("true", "false"):
            known = ", ".join(space.shapes)
            raise doc.refusal(
                path, f"a relation such as x = 0, or a shape ({known})", text.strip()[:64], "Compare it."
            ) from None
        raise doc.within(error, path) from None
    strange = relation.free_symbols - set(coordinates.values())
    if strange or relation.atoms(sp.Function) & set(texts.names.unknowns.values()):
        raise doc.refusal(
            path, "a relation over the coordinates", "one with an unknown", "Use coordinates only."
        )
    return relation
