"""Shapes {x : f(x) < 0} given by the sign of an expression."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError, ShapeWarning
from pibls.geometry.affine import Affine
from pibls.geometry.box import Box
from pibls.geometry.csg import Combined, empty_shape_error
from pibls.geometry.faces.face import Face
from pibls.geometry.faces.level_set import LevelSet
from pibls.geometry.faces.trimming import trim_faces
from pibls.geometry.mapped import Mapped
from pibls.geometry.protocol import box_of
from pibls.geometry.shape import Shape
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain


@dataclass(frozen=True, init=False, repr=False)
class Implicit(Combined):
    """The set where an expression is negative, within bounds, in two or three dimensions.

    Normals are in the direction of the gradient. Where the shape reaches its bounds, these are part of its
    boundary.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Implicit(x**4 + y**4 - 1, {x: (-2, 2), y: (-2, 2)})
    Implicit(x**4 + y**4 - 1, {x: (-2, 2), y: (-2, 2)})
    """

    expression: sp.Expr
    box: Box

    def __init__(
        self,
        expression: sp.Expr | Boolean,
        bounds: Mapping[sp.Symbol, tuple[float | sp.Expr, float | sp.Expr]],
    ) -> None:
        if not isinstance(bounds, Mapping) or len(bounds) not in (2, 3):
            raise ProblemError(
                "Implicit(bounds)",
                expected="{x: (low, high), y: (low, high)}, for two or three coordinates",
                got=repr(bounds),
                remedy="Give the box in which the shape lies.",
            )
        box = Box(bounds)
        f = _difference(expression)
        unknown = {*f.free_symbols, *f.atoms(AppliedUndef)} - set(box.coordinates)
        if unknown:
            raise ProblemError(
                "Implicit(expression)",
                expected=f"an expression in {', '.join(map(str, box.coordinates))}",
                got=f"{expression}, which contains {', '.join(sorted(map(str, unknown)))}",
                remedy="Substitute numbers for all symbols other than the coordinates.",
            )
        if not f.free_symbols:
            raise ProblemError(
                "Implicit(expression)",
                expected="an expression that changes sign in space",
                got=f"the constant {expression}",
                remedy="Write for example x**2 + y**2 - 1.",
            )
        object.__setattr__(self, "expression", f)
        object.__setattr__(self, "box", box)

    @property
    def parts(self) -> tuple[Domain, ...]:
        return (self.box,)

    @property
    def leaves(self) -> tuple[object, ...]:
        return (self,)

    @cached_property
    def _level(self) -> LevelSet:
        return LevelSet(self.expression, self.box.coordinates, "Implicit(expression)")

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        bounds = box_of(self.box)
        branches = _smooth_branches(self.expression) if len(bounds) == 2 else [self.expression]
        levels = [LevelSet(f, self.box.coordinates, "Implicit(expression)") for f in branches]
        level_faces = [(f, n) for n, level_set in enumerate(levels, 1) for f in level_set.faces(bounds, self)]
        box_faces = tuple(face.mapped(_IDENTITY[len(bounds)], self) for face in self.box.faces)
        found = trim_faces(self, bounds, [*level_faces, *((f, 0) for f in box_faces)], warn=False)
        if not found:
            raise empty_shape_error(self)
        if not level_faces:
            warnings.warn(
                f"{self!r} is the whole box: the expression is negative everywhere within the bounds.",
                ShapeWarning,
                stacklevel=2,
            )
        return found

    def _bounding_box(self) -> Array:
        return box_of(self.box)

    def contains(self, X: Array) -> Mask:
        inside = self.box.contains(X)
        near = np.flatnonzero(inside)
        inside[near] = self._level.value(X[near]) <= 0
        return inside

    @property
    def inside(self) -> Boolean:
        return sp.And(self.expression < 0, self.box.inside)

    def mapped(self, affine: Affine) -> Shape:
        return Mapped(self, affine)

    def __repr__(self) -> str:
        return f"Implicit({self.expression}, {repr(self.box)[4:-1]})"


def _difference(expression: sp.Expr | Boolean) -> sp.Expr:
    """Return f of f < 0: the expression itself, or the difference of the two sides of an inequality."""
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


def _smooth_branches(f: sp.Expr) -> list[sp.Expr]:
    """Return the smooth branches of an expression with Max, Min or Abs; corners lie between them."""
    found = [f]
    while any(e.has(sp.Max, sp.Min, sp.Abs) for e in found):
        out: dict[sp.Expr, None] = {}
        for e in found:
            # The innermost function first, so that the replacement contains no other one.
            nonsmooth = sorted(e.atoms(sp.Max, sp.Min, sp.Abs), key=sp.count_ops)
            branches = (
                [e]
                if not nonsmooth
                else (
                    [nonsmooth[0].args[0], -nonsmooth[0].args[0]]
                    if isinstance(nonsmooth[0], sp.Abs)
                    else nonsmooth[0].args
                )
            )
            out |= dict.fromkeys(e.xreplace({nonsmooth[0]: b}) if nonsmooth else e for b in branches)
        found = [e for e in out if e.free_symbols]
        if len(found) > _MAX_BRANCHES:
            return [f]
    return found


_MAX_BRANCHES = 16
_IDENTITY = {d: Affine(tuple(map(tuple, np.eye(d).tolist())), (0.0,) * d) for d in (2, 3)}
