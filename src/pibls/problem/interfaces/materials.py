"""Materials: the branches of all coefficients and sources that hold at a point.

The signs of the switching functions (`switches`) determine the branches; their zero sets are the surfaces
that divide the domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sympy.core.function import AppliedUndef

from pibls.arrays import Array, Indices
from pibls.expressions import Expression
from pibls.geometry import Domain, Face, box_of, faces_of
from pibls.geometry.faces.extruded_face import ExtrudedFace
from pibls.geometry.faces.level_set import LevelSet
from pibls.problem.forms.compiled_expressions import compile_expressions
from pibls.problem.forms.form import Form
from pibls.problem.forms.known import is_shape_indicator
from pibls.problem.interfaces.branches import Value, branch_at
from pibls.problem.interfaces.discontinuities import SwitchContext
from pibls.problem.interfaces.switches import SWITCHING_FUNCTIONS, Switch
from pibls.runtime.deadline import check_deadline

_PROPORTIONAL_TOLERANCE = 1e-9  # relative
_BRANCH_SAMPLES = 64  # points at which the branches of a nonsmooth switching function are determined


class Materials:
    """Maps points to numbers of materials, that is, of branches of all expressions.

    The branches at a point are determined by the signs of all switching functions.
    """

    def __init__(
        self, forms: Sequence[Form], switches: Sequence[Switch], context: SwitchContext, ground: Domain
    ) -> None:
        self._expressions = [e for form in forms for e in _all_expressions(form)]
        self._forms, self._context, self._ground = forms, context, ground
        self._coordinates = context.variables.coordinates[: len(ground.coordinates)]
        self._functions = _distinct_functions(switches, context, ground)
        self._signs = compile_expressions(self._coordinates, self._functions)
        self._known: dict[bytes, int] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}

    def levels(self, X: Array) -> Array:
        """Return the values of all switching functions, (n, functions)."""
        with np.errstate(all="ignore"):
            values = self._signs(*X.T)
        return np.column_stack([np.empty((len(X), 0)), *(np.asarray(v) + np.zeros(len(X)) for v in values)])

    def __call__(self, X: Array) -> Indices:
        signs = self.levels(X) > 0
        if not signs.shape[1]:
            return np.zeros(len(X), dtype=np.intp)
        # As integers of 62 bits, which are compared ten times as fast as rows.
        parts = np.split(signs, range(62, signs.shape[1], 62), axis=1)
        codes = np.column_stack([bits @ (1 << np.arange(bits.shape[1])) for bits in parts])
        axis = None if codes.shape[1] == 1 else 0
        _, first, index = np.unique(codes, axis=axis, return_index=True, return_inverse=True)
        numbers = [self._number(codes[i].tobytes(), X[i]) for i in first]
        return np.array(numbers, dtype=np.intp)[np.reshape(index, -1)]

    def _number(self, pattern: bytes, x: Array) -> int:
        if pattern not in self._known:
            value = self._value(x)
            branch = tuple(branch_at(e, value) for e in self._expressions)
            self._known[pattern] = self._numbers.setdefault(branch, len(self._numbers))
        return self._known[pattern]

    def branches(self, x: Array) -> list[tuple[Form, ...]]:
        """Return, for each equation, its fluxes and the form without fluxes, with the branches at x."""
        value = self._value(x)
        return [
            (
                *(_with_branches(f.form, value) for f in form.fluxes),
                _with_branches(form.without_fluxes or form, value),
            )
            for form in self._forms
        ]

    def faces(self) -> list[Face]:
        """Return the faces of the zero sets of all switching functions."""
        return [
            f
            for g in self._functions
            for smooth in self._smooth(g)
            for f in _faces(smooth, self._context, self._ground)
        ]

    def _smooth(self, g: Expression) -> list[Expression]:
        """Return the branches of a switching function, several if it is nonsmooth like Max(1, sign(x))."""
        if not g.has(*SWITCHING_FUNCTIONS):
            return [g]
        X = np.asarray(self._ground.interior(_BRANCH_SAMPLES, np.random.default_rng(0)), dtype=float)
        return [e for e in dict.fromkeys(branch_at(g, self._value(p)) for p in X) if not e.is_number]

    def _value(self, x: Array) -> Value:
        point = dict(zip(self._coordinates, x.tolist(), strict=True))

        def value(e: Expression) -> float | None:
            fixed = self._context.with_parameters(e)
            if not fixed.free_symbols <= point.keys():
                return None
            with np.errstate(all="ignore"):
                columns = [np.array([point[c]]) for c in point]
                return float(np.ravel(compile_expressions(list(point), [fixed])(*columns)[0])[0])

        return value


def _all_expressions(form: Form) -> list[Expression]:
    inner = [e for f in form.fluxes for e in _all_expressions(f.form)]
    return [form.rest, *(a for _, a in form.linear), *form.partials, *inner]


def _with_branches(form: Form, value: Value) -> Form:
    """Return a form with the branches of one side."""
    return replace(
        form,
        linear=tuple((j, branch_at(a, value)) for j, a in form.linear),
        rest=branch_at(form.rest, value),
        partials=tuple(branch_at(p, value) for p in form.partials),
    )


def _distinct_functions(
    switches: Sequence[Switch], context: SwitchContext, ground: Domain
) -> list[Expression]:
    """Return the distinct switching functions; multiples of each other count once."""
    X = np.asarray(ground.interior(512, np.random.default_rng(0)), dtype=float)
    d = X.shape[1]
    out: list[tuple[Expression, Array]] = []
    for switch in switches:
        g = context.with_parameters(switch.expression)
        with np.errstate(all="ignore"):
            values = np.asarray(
                compile_expressions(context.variables.coordinates[:d], [g])(*X.T)[0]
            ) + np.zeros(len(X))
        if not any(_are_proportional(values, other) for _, other in out):
            out.append((g, values))
    return [g for g, _ in out]


def _are_proportional(a: Array, b: Array) -> bool:
    with np.errstate(all="ignore"):
        ratio = a / b
    ratio = ratio[np.isfinite(ratio)]
    return bool(len(ratio) and ratio.max() - ratio.min() <= _PROPORTIONAL_TOLERANCE * np.abs(ratio).max())


def _faces(g: Expression, context: SwitchContext, ground: Domain) -> tuple[Face, ...]:
    """Return the faces of {g = 0} in the bounding box: the boundary of a shape, or a level set."""
    check_deadline(__name__)
    d = len(ground.coordinates)
    coordinates = context.variables.coordinates[:d]
    for f in g.atoms(AppliedUndef):
        shape = f.func.shape if is_shape_indicator(f) else None
        if shape is not None and f.args == coordinates:
            return faces_of(shape)
        if shape is not None and f.args == coordinates[:-1]:
            low, high = (float(v) for v in box_of(ground)[-1])
            return tuple(ExtrudedFace(face, low, high) for face in faces_of(shape))
    return LevelSet(g, coordinates, "problem: an interface").faces(box_of(ground), g)
