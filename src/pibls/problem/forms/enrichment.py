"""Enrichment of the basis by functions given as SymPy expressions (argument ``enrich`` of `solve`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import sympy as sp

from pibls.arrays import Array, MultiIndex, PointFunction
from pibls.basis import BasisSpec
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression
from pibls.problem.forms.compiled_expressions import compile_expressions
from pibls.problem.problem import Problem

_INWARD_SHIFT = (
    1e-9  # fraction of the way to the centre, where a function singular on the boundary is evaluated
)


@dataclass(frozen=True)
class EnrichmentFunctions:
    """A basis of given expressions of the coordinates, without random parameters."""

    expressions: tuple[Expression, ...]
    coordinates: tuple[Coordinate, ...]
    _compiled: dict[MultiIndex, PointFunction] = field(default_factory=dict, compare=False, repr=False)

    @property
    def size(self) -> int:
        return len(self.expressions)

    def draw(self, box: Array, rng: np.random.Generator) -> EnrichmentFunctions:
        return self

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        return [self._at(X, alpha) for alpha in alphas]

    def _at(self, X: Array, alpha: MultiIndex) -> Array:
        if alpha not in self._compiled:
            order = [(c, n) for c, n in zip(self.coordinates, alpha, strict=True) if n]
            self._compiled[alpha] = compile_expressions(
                list(self.coordinates), [e.diff(*order) if order else e for e in self.expressions]
            )
        out = np.empty((len(X), self.size), order="F")
        self._fill(out, X, alpha)
        bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
        if len(bad):
            # A singular point on the boundary: use the value beside it, towards the centre.
            size = float(np.abs(X).max()) or 1.0
            beside = X[bad] + _INWARD_SHIFT * (X.mean(axis=0) - X[bad]) + 1e-12 * size
            part = np.empty((len(bad), self.size), order="F")
            self._fill(part, beside, alpha)
            out[bad] = np.nan_to_num(part)
        return out

    def _fill(self, out: Array, X: Array, alpha: MultiIndex) -> None:
        with np.errstate(all="ignore"):
            values = self._compiled[alpha](*X.T)
        for column, value in enumerate(values):
            if np.iscomplexobj(value):
                value = np.where(np.imag(value) == 0, np.real(value), np.nan)
            out[:, column] = value


def _check_expression(e: Expression, problem: Problem) -> None:
    """Raise a ProblemError unless e is an expression of coordinates and parameters."""
    if not isinstance(e, sp.Expr) or e.atoms(sp.core.function.AppliedUndef):
        raise _refused(repr(e))
    strange = e.free_symbols - set(problem.coordinates) - set(problem.parameters)
    if strange:
        raise _refused(f"{e}, with the free symbol {', '.join(sorted(map(str, strange)))}")
    if not e.free_symbols & set(problem.coordinates):
        raise _refused(f"the constant {e}")


def enrichment_functions(
    enrich: Sequence[Expression] | Expression | None, problem: Problem
) -> tuple[BasisSpec, ...]:
    """Return the basis of the expressions in ``enrich``, after checking them; empty for None."""
    if enrich is None:
        return ()
    if isinstance(enrich, sp.Expr):
        enrich = [enrich]
    if not isinstance(enrich, Sequence) or isinstance(enrich, str) or not enrich:
        raise _refused(repr(enrich))
    coordinates = problem.coordinates
    real = {c: sp.Symbol(c.name, real=True) for c in coordinates}
    out = []
    for e in enrich:
        _check_expression(e, problem)
        out.append(e.subs(problem.parameters).xreplace(real))
    made = EnrichmentFunctions(tuple(out), tuple(real[c] for c in coordinates))
    X = np.asarray(problem.domain.interior(64, np.random.default_rng(0)), dtype=float)
    values = np.empty((len(X), made.size))
    for column, table in enumerate(made.jets(X, [(0,) * len(coordinates)])[0].T):
        values[:, column] = table
        if not np.isfinite(table).all() or not table.any():
            raise _refused(f"{enrich[column]}, which is not finite, or zero, inside the domain")
    return (made,)


def _refused(got: str) -> ProblemError:
    return ProblemError(
        "enrich",
        expected="a list of SymPy expressions of the coordinates",
        got=got,
        remedy="Write enrich=[sympy.sqrt(x**2 + y**2)]: nonsmooth components of the solution. They may be "
        "singular on the boundary.",
    )
