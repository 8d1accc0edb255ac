"""The section [parameters] of a problem file: k = 2.5, h = "2*k"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Number
from pibls.io.offsets import KeyPath
from pibls.io.statements import ExpressionReader, check_entry_count
from pibls.io.toml_document import Document, TomlValue
from pibls.text import Names, did_you_mean
from pibls.text.names import Value, check_name


class AccessRecorder(dict[str, Value]):
    """A dictionary that records which of its keys were accessed."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        super().__init__(values)
        self.accessed: set[str] = set()

    def __getitem__(self, name: str) -> Value:
        self.accessed.add(name)
        return super().__getitem__(name)


@dataclass(frozen=True)
class Parameters:
    """Values by name; the independent ones (``free``), and the texts and dependencies of the others."""

    values: dict[str, Value]
    free: tuple[str, ...]
    texts: dict[str, TomlValue]
    uses: dict[str, set[str]]

    def without(self, fixed: set[str]) -> Parameters:
        """Return a copy in which some parameters, and those that they depend on, are not free."""
        used = fixed | {u for name in fixed for u in self.uses.get(name, ())}
        return replace(self, free=tuple(n for n in self.free if n not in used))


def read_parameters(doc: Document, overrides: Mapping[str, Number | str]) -> Parameters:
    """Read the section [parameters], with other values for those in ``overrides``."""
    table = dict(doc.table(("parameters",), doc.values.get("parameters", {})))
    for name, value in overrides.items():
        if name not in table:
            raise ProblemError(
                "parameters",
                expected=f"parameters of {doc.file} ({', '.join(table) or 'it has none'})",
                got=name,
                remedy=did_you_mean(name, table) + "Declare it under [parameters].",
            )
        table[name] = _override(name, value)
    out: dict[str, Value] = {}
    uses: dict[str, set[str]] = {}
    check_entry_count(doc, ("parameters",), table)
    for name, value in table.items():
        path: KeyPath = ("parameters", name)
        check_new(doc, path, name, list(out))
        recorder = AccessRecorder(out)
        out[name] = ExpressionReader(doc, Names({}, values=recorder)).constant(path, value)
        if recorder.accessed:
            uses[name] = recorder.accessed.union(*(uses.get(n, ()) for n in recorder.accessed))
    return Parameters(out, tuple(n for n in out if n not in uses), {n: table[n] for n in uses}, uses)


def _override(name: str, value: Number | str) -> TomlValue:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return value
    if isinstance(value, sp.Expr) and not isinstance(value, sp.Float):
        return str(value)  # exact: 1/3 remains a rational
    try:
        return Decimal(repr(float(value)))
    except (TypeError, ValueError):
        raise ProblemError(
            f"parameters[{name!r}]",
            expected="a number, or text that evaluates to one",
            got=repr(value),
            remedy=f'Write {{"{name}": 0.5}} or {{"{name}": "pi/3"}}.',
        ) from None


def check_new(doc: Document, path: KeyPath, name: str, taken: list[str]) -> None:
    """Check that a name is valid and not taken."""
    with doc.locate_errors(path, key=True):
        check_name(name, doc.name(path), taken)
