"""[parameters]: k = 2.5, h = "2*k": values by name, and which of them follow from others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import sympy as sp

from pibls.errors import ProblemError
from pibls.io.document import Document
from pibls.io.places import Path
from pibls.io.statements import Texts, check_count
from pibls.text import Names, nearest
from pibls.text.names import check_name


class Noted(dict[str, Any]):
    """Values by name that know which of them were asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)


@dataclass(frozen=True)
class Parameters:
    """Values by name; which of them are free, and the texts of those that follow from others."""

    values: dict[str, Any]
    free: tuple[str, ...]
    texts: dict[str, Any]
    uses: dict[str, set[str]]

    def without(self, fixed: set[str]) -> Parameters:
        """The same with some of them fixed, and with them what they follow from."""
        used = fixed | {u for name in fixed for u in self.uses.get(name, ())}
        return replace(self, free=tuple(n for n in self.free if n not in used))


def read_parameters(doc: Document, overrides: Mapping[str, Any]) -> Parameters:
    table = dict(doc.table(("parameters",), doc.values.get("parameters", {})))
    for name, value in overrides.items():
        if name not in table:
            raise ProblemError(
                "parameters",
                expected=f"parameters of {doc.file} ({', '.join(table) or 'it has none'})",
                got=name,
                remedy=nearest(name, table) + "Declare it under [parameters].",
            )
        table[name] = _override(name, value)
    out: dict[str, Any] = {}
    uses: dict[str, set[str]] = {}
    check_count(doc, ("parameters",), table)
    for name, value in table.items():
        path: Path = ("parameters", name)
        check_new(doc, path, name, list(out))
        noted = Noted(out)
        out[name] = Texts(doc, Names({}, values=noted)).constant(path, value)
        if noted.asked:
            uses[name] = noted.asked.union(*(uses.get(n, ()) for n in noted.asked))
    return Parameters(out, tuple(n for n in out if n not in uses), {n: table[n] for n in uses}, uses)


def _override(name: str, value: Any) -> Any:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return value
    if isinstance(value, sp.Expr) and not isinstance(value, sp.Float):
        return str(value)  # exact: 1/3 stays a third
    try:
        return Decimal(repr(float(value)))
    except (TypeError, ValueError):
        raise ProblemError(
            f"parameters[{name!r}]",
            expected="a number, or text that gives one",
            got=repr(value),
            remedy=f'Write {{"{name}": 0.5}} or {{"{name}": "pi/3"}}.',
        ) from None


def check_new(doc: Document, path: Path, name: str, taken: list[str]) -> None:
    with doc.at(path, key=True):
        check_name(name, doc.name(path), taken)
