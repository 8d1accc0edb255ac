"""What the names of a text stand for: coordinates, unknowns, parameters, and derivatives such as u_xx.

    u_xxy = ∂³u/∂x²∂y,   u_r_theta = u_rtheta = ∂²u/∂r∂θ

A suffix is read as coordinates, whatever their length, and refused where it could be read in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sympy as sp

from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.text.limits import MAX_COMPONENTS, MAX_NAME
from pibls.text.pointing import nearest, short
from pibls.text.words import CONSTANTS, RESERVED

Value: TypeAlias = Any
"""A SymPy expression, or a tuple of them: a vector."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


class AmbiguousError(Exception):
    """A suffix that can be read in two ways; the argument is what to write instead."""


@dataclass(frozen=True)
class Names:
    """The names of a problem.

    Parameters
    ----------
    coordinates
        Name → symbol, in the order of the domain.
    unknowns
        Name → applied function such as u(x, t).
    time
        The name of the coordinate that is time; laplacian, grad and div leave it out.
    values
        Parameters and abbreviations: name → expression or vector.
    functions
        Python functions for ``python(name, x, y)``.
    places
        Name of a shape → the condition that holds inside, for ``inside(name)``.

    >>> names = Names.of("x y", unknowns="u")
    >>> names.unknowns
    {'u': u(x, y)}
    """

    coordinates: Mapping[str, Any]
    unknowns: Mapping[str, Any] = field(default_factory=dict)
    time: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    functions: Mapping[str, PointFunction] = field(default_factory=dict)
    places: Mapping[str, Any] = field(default_factory=dict)

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
                remedy="Leave some of them out.",
            )
        for name in declared:
            self._check_not_derivative(name)

    @classmethod
    def of(cls, coordinates: str, unknowns: str = "", *, time: str | None = None, **values: Value) -> Names:
        """Plain names, separated by spaces; unknowns of all the coordinates."""
        symbols = {n: sp.Symbol(n) for n in coordinates.split()}
        applied = {n: sp.Function(n)(*symbols.values()) for n in unknowns.split()}
        numbers = {n: sp.sympify(v) if isinstance(v, (int, float)) else v for n, v in values.items()}
        return cls(symbols, applied, time, numbers)

    @property
    def space(self) -> tuple[Any, ...]:
        """The coordinates without time."""
        return tuple(c for name, c in self.coordinates.items() if name != self.time)

    def all(self) -> set[str]:
        """Every name that means something by itself, but not the functions."""
        return {*self.coordinates, *self.unknowns, *self.values, *CONSTANTS}

    def find(self, name: str) -> Value | None:
        """The value of a name, or None."""
        for table in (self.coordinates, self.unknowns, self.values, CONSTANTS):
            if name in table:
                return table[name]
        return None

    def derivative(self, name: str) -> tuple[Value, tuple[Any, ...]] | None:
        """(u, (x, x, y)) for the name u_xxy, or None; raises `AmbiguousError`."""
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
        """The name that was probably meant, as a sentence."""
        base, _, suffix = name.rpartition("_")
        if base in self.unknowns and suffix:
            known = ", ".join(self.coordinates)
            return f"{base}_{suffix[:8]} is no derivative of {base}: the coordinates are {known}. "
        return nearest(name, {*self.all(), *(functions if len(name) > 2 else ())})

    def _check_not_derivative(self, name: str) -> None:
        try:
            clear = self.derivative(name) is None
        except AmbiguousError:
            clear = False
        if not clear:
            base, _, suffix = name.rpartition("_")
            raise ProblemError(
                "names",
                expected="names that cannot be read as a derivative",
                got=short(name),
                remedy=f"Rename it, or leave it out: it is already the derivative of {base} by {suffix}.",
            )


def check_name(name: str, argument: str, taken: list[str]) -> None:
    """Letters, digits and _, begun with a letter; not a word of the language, and not taken."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ProblemError(
            argument,
            expected=f"a name of at most {MAX_NAME} letters a-z, digits and _, begun with a letter",
            got=repr(name)[:80],
            remedy="Write Greek letters out: alpha, theta.",
        )
    if name in RESERVED:
        what = "a constant" if name in CONSTANTS else "a word of the language"
        raise ProblemError(
            argument, expected="a name of your own", got=f"{name}, {what}", remedy="Choose another name."
        )
    if name in taken:
        raise ProblemError(
            argument, expected="each name once", got=f"{name} twice", remedy="Rename one of the two."
        )


def _readings(suffix: str, coordinates: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Up to two ways of reading a suffix as coordinates, not counting their order."""
    ways: list[list[tuple[str, ...]]] = [[] for _ in range(len(suffix) + 1)]
    ways[0] = [()]
    for at in range(len(suffix)):
        if not ways[at]:
            continue
        for name in coordinates:
            for start in {at, at + (at > 0 and suffix[at] == "_")}:
                if suffix.startswith(name, start):
                    _extend(ways[start + len(name)], ways[at], name)
    return ways[-1]


def _extend(ways: list[tuple[str, ...]], before: list[tuple[str, ...]], name: str) -> None:
    # Two different readings stay different whatever follows, so two are enough to know.
    for way in before:
        longer = tuple(sorted((*way, name)))
        if longer not in ways and len(ways) < 2:
            ways.append(longer)
