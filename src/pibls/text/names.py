"""Names in a text: coordinates, unknowns, parameters, and derivatives such as u_xx.

    u_xxy = ∂³u/∂x²∂y,   u_r_theta = u_rtheta = ∂²u/∂r∂θ

A suffix is split into coordinates of any length; a suffix that can be split in two ways is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import sympy as sp

from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Logical, Unknown
from pibls.text.errors import did_you_mean, quoted
from pibls.text.function_table import CONSTANTS, RESERVED
from pibls.text.limits import MAX_COMPONENTS, MAX_NAME

Value: TypeAlias = Expression | tuple[Expression, ...]
"""A SymPy expression, or a tuple of expressions for a vector."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


class AmbiguousError(Exception):
    """A derivative suffix with two readings; the argument is an unambiguous form."""


@dataclass(frozen=True)
class Names:
    """The names of a problem and their SymPy objects.

    Parameters
    ----------
    coordinates
        Name → symbol, in the order of the domain.
    unknowns
        Name → applied function such as u(x, t).
    time
        The name of the time coordinate, which laplacian, grad and div exclude.
    values
        Parameters and definitions: name → expression or vector.
    functions
        Python functions for ``python(name, x, y)``.
    inside_relations
        Name of a shape → the relation that holds inside it, for ``inside(name)``.

    >>> names = Names.of("x y", unknowns="u")
    >>> names.unknowns
    {'u': u(x, y)}
    """

    coordinates: Mapping[str, Coordinate]
    unknowns: Mapping[str, Unknown] = field(default_factory=dict)
    time: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    functions: Mapping[str, PointFunction] = field(default_factory=dict)
    inside_relations: Mapping[str, Logical] = field(default_factory=dict)

    def __post_init__(self) -> None:
        declared: list[str] = []
        for kind, table in (
            ("coordinates", self.coordinates),
            ("unknowns", self.unknowns),
            ("values", self.values),
        ):
            for name in table:
                check_name(name, kind, declared)
                declared.append(name)
        if len(self.coordinates) > MAX_COMPONENTS:
            raise ProblemError(
                "coordinates",
                expected=f"at most {MAX_COMPONENTS}",
                got=len(self.coordinates),
                remedy="Remove some of them.",
            )
        for name in declared:
            self._check_not_derivative(name)

    @classmethod
    def of(cls, coordinates: str, unknowns: str = "", *, time: str | None = None, **values: Value) -> Names:
        """Create names from strings separated by spaces; unknowns depend on all coordinates."""
        symbols = {n: sp.Symbol(n) for n in coordinates.split()}
        applied = {n: sp.Function(n)(*symbols.values()) for n in unknowns.split()}
        numbers = {n: sp.sympify(v) if isinstance(v, (int, float)) else v for n, v in values.items()}
        return cls(symbols, applied, time, numbers)

    @property
    def space(self) -> tuple[Coordinate, ...]:
        """The space coordinates."""
        return tuple(c for name, c in self.coordinates.items() if name != self.time)

    def declared_names(self) -> set[str]:
        """Return all declared names and constants, without functions."""
        return {*self.coordinates, *self.unknowns, *self.values, *CONSTANTS}

    def find(self, name: str) -> Value | None:
        """Return the value of a name, or None."""
        for table in (self.coordinates, self.unknowns, self.values, CONSTANTS):
            if name in table:
                return table[name]
        return None

    def derivative(self, name: str) -> tuple[Value, tuple[Coordinate, ...]] | None:
        """Return (u, (x, x, y)) for the name u_xxy, or None; raises `AmbiguousError`."""
        readings: list[tuple[str, tuple[str, ...]]] = []
        for i, character in enumerate(name):
            is_base = name[:i] in self.unknowns or name[:i] in self.values
            if character != "_" or not is_base or not name[i + 1 :]:
                continue
            readings += [(name[:i], variables) for variables in _readings(name[i + 1 :], self.coordinates)]
        if not readings:
            return None
        if len(readings) > 1:
            base, variables = readings[0]
            raise AmbiguousError(f"diff({base}, {', '.join(variables)})")
        base, variables = readings[0]
        return self.find(base), tuple(self.coordinates[v] for v in variables)

    def suggestion(self, name: str, functions: frozenset[str]) -> str:
        """Return a sentence that suggests the intended name; empty if no name is similar."""
        base, _, suffix = name.rpartition("_")
        if base in self.unknowns and suffix:
            known = ", ".join(self.coordinates)
            return f"{base}_{suffix[:8]} is not a derivative of {base}: the coordinates are {known}. "
        return did_you_mean(name, {*self.declared_names(), *(functions if len(name) > 2 else ())})

    def _check_not_derivative(self, name: str) -> None:
        try:
            is_free = self.derivative(name) is None
        except AmbiguousError:
            is_free = False
        if not is_free:
            base, _, suffix = name.rpartition("_")
            raise ProblemError(
                "names",
                expected="names that do not denote a derivative",
                got=quoted(name),
                remedy=f"Rename or remove it: it denotes the derivative of {base} with respect to {suffix}.",
            )


def check_name(name: str, argument: str, taken: list[str]) -> None:
    """Check a name: letters, digits and _, starting with a letter; neither reserved nor taken."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ProblemError(
            argument,
            expected=f"a name of at most {MAX_NAME} letters a-z, digits and _, starting with a letter",
            got=repr(name)[:80],
            remedy="Spell out Greek letters: alpha, theta.",
        )
    if name in RESERVED:
        what = "a constant" if name in CONSTANTS else "a reserved word"
        raise ProblemError(
            argument,
            expected="a name that is not reserved",
            got=f"{name}, {what}",
            remedy="Choose another name.",
        )
    if name in taken:
        raise ProblemError(
            argument, expected="unique names", got=f"{name} twice", remedy="Rename one of the two."
        )


def _readings(suffix: str, coordinates: Mapping[str, Coordinate]) -> list[tuple[str, ...]]:
    """Return up to two ways of splitting a suffix into coordinates, ignoring their order."""
    readings_at: list[list[tuple[str, ...]]] = [[] for _ in range(len(suffix) + 1)]
    readings_at[0] = [()]
    for at in range(len(suffix)):
        if not readings_at[at]:
            continue
        for name in coordinates:
            for start in {at, at + (at > 0 and suffix[at] == "_")}:
                if suffix.startswith(name, start):
                    _extend_readings(readings_at[start + len(name)], readings_at[at], name)
    return readings_at[-1]


def _extend_readings(readings_at: list[tuple[str, ...]], before: list[tuple[str, ...]], name: str) -> None:
    # Two different readings remain different whatever follows, so two suffice.
    for reading in before:
        longer = tuple(sorted((*reading, name)))
        if longer not in readings_at and len(readings_at) < 2:
            readings_at.append(longer)
