"""{x : f(x) < 0}."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.errors import ProblemError, ShapeWarning
from pibls.geometry.box import Box
from pibls.geometry.csg import Combined, empty
from pibls.geometry.faces.face import Face
from pibls.geometry.faces.level import Level
from pibls.geometry.faces.trim import trim
from pibls.geometry.mapped import Mapped
from pibls.geometry.maps import Affine
from pibls.geometry.protocol import box_of
from pibls.geometry.shape import Shape


@dataclass(frozen=True, init=False, repr=False)
class Implicit(Combined):
    """Where an expression is negative, within bounds; in two or three dimensions.

    The normals are those of its gradient. Where the shape reaches its bounds, they are part of its boundary.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Implicit(x**4 + y**4 - 1, {x: (-2, 2), y: (-2, 2)})
    Implicit(x**4 + y**4 - 1, {x: (-2, 2), y: (-2, 2)})
    """

    expression: Any
    box: Box

    def __init__(self, expression: Any, bounds: Any) -> None:
        if not isinstance(bounds, Mapping) or len(bounds) not in (2, 3):
            raise ProblemError(
                "Implicit(bounds)",
                expected="{x: (low, high), y: (low, high)}, for two or three coordinates",
                got=repr(bounds),
                remedy="Say within which box the shape lies.",
            )
        box = Box(bounds)
        f = _difference(expression)
        strange = {*f.free_symbols, *f.atoms(AppliedUndef)} - set(box.coordinates)
        if strange:
            raise ProblemError(
                "Implicit(expression)",
                expected=f"an expression in {', '.join(map(str, box.coordinates))}",
                got=f"{expression}, with {', '.join(sorted(map(str, strange)))}",
                remedy="Give numbers for everything that is no coordinate.",
            )
        if not f.free_symbols:
            raise ProblemError(
                "Implicit(expression)",
                expected="an expression that changes its sign in space",
                got=f"the constant {expression}",
                remedy="Write for example x**2 + y**2 - 1.",
            )
        object.__setattr__(self, "expression", f)
        object.__setattr__(self, "box", box)

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.box,)

    @property
    def leaves(self) -> tuple[object, ...]:
        return (self,)

    @cached_property
    def _level(self) -> Level:
        return Level(self.expression, self.box.coordinates, "Implicit(expression)")

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        around = box_of(self.box)
        laws = _laws(self.expression) if len(around) == 2 else [self.expression]
        levels = [Level(f, self.box.coordinates, "Implicit(expression)") for f in laws]
        level = [(f, n) for n, one in enumerate(levels, 1) for f in one.faces(around, self)]
        frame = tuple(face.mapped(_STAY[len(around)], self) for face in self.box.faces)
        found = trim(self, around, [*level, *((f, 0) for f in frame)], warn=False)
        if not found:
            raise empty(self)
        if not level:
            warnings.warn(
                f"{self!r} is the whole box: the expression is negative all over the bounds.",
                ShapeWarning,
                stacklevel=2,
            )
        return found

    def _around(self) -> Array:
        return box_of(self.box)

    def contains(self, X: Array) -> Mask:
        inside = self.box.contains(X)
        near = np.flatnonzero(inside)
        inside[near] = self._level.value(X[near]) <= 0
        return inside

    @property
    def inside(self) -> Any:
        return sp.And(self.expression < 0, self.box.inside)

    def mapped(self, affine: Affine) -> Shape:
        return Mapped(self, affine)

    def __repr__(self) -> str:
        return f"Implicit({self.expression}, {repr(self.box)[4:-1]})"


def _difference(expression: Any) -> Any:
    """f of f < 0: the expression itself, or the two sides of an inequality."""
    if isinstance(expression, Relational) and expression.rel_op in ("<", "<=", ">", ">="):
        return expression.lts - expression.gts
    if not isinstance(expression, sp.Expr) or expression.has(sp.I, sp.nan, sp.zoo):
        raise ProblemError(
            "Implicit(expression)",
            expected="a real SymPy expression, negative inside, or an inequality such as x**2 + y**2 < 1",
            got=repr(expression),
            remedy="Write x**2 + y**2 - 1 with SymPy symbols.",
        )
    return expression


def _laws(f: Any) -> list[Any]:
    """The smooth expressions that a Max, a Min or an Abs is made of: between two of them is a corner."""
    found = [f]
    while any(e.has(sp.Max, sp.Min, sp.Abs) for e in found):
        out: dict[Any, None] = {}
        for e in found:
            # Those within others come first, so that what replaces one has none left.
            bent = sorted(e.atoms(sp.Max, sp.Min, sp.Abs), key=sp.count_ops)
            branches = [e] if not bent else (
                [bent[0].args[0], -bent[0].args[0]] if isinstance(bent[0], sp.Abs) else bent[0].args
            )  # fmt: skip
            out |= dict.fromkeys(e.xreplace({bent[0]: b}) if bent else e for b in branches)
        found = [e for e in out if e.free_symbols]
        if len(found) > _LAWS:
            return [f]
    return found


_LAWS = 16
_STAY = {d: Affine(tuple(map(tuple, np.eye(d).tolist())), (0.0,) * d) for d in (2, 3)}
