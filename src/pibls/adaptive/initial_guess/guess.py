r"""ũ(x): where a nonlinear problem starts: a number, an expression, a function, or a solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import Array, MultiIndex
from pibls.basis import Waves
from pibls.basis.scale import scale_for
from pibls.errors import ProblemError
from pibls.geometry import box_of
from pibls.linalg import RidgeQR
from pibls.problem import Jet, Problem
from pibls.problem.forms.calling import Datum, call_at_points
from pibls.problem.forms.known import as_expression, is_known
from pibls.problem.forms.program import program
from pibls.spaces import Space

Evaluator = Callable[[Array, MultiIndex], Array]
_FITTED = 128  # functions that a Python function is written in, so that it has derivatives


@dataclass(frozen=True)
class Guess(Space):
    """One function for each unknown, with its derivatives; unknowns that are not named start at zero."""

    unknowns: tuple[Evaluator | None, ...]

    @property
    def columns(self) -> int:
        return 0

    @property
    def nodes(self) -> int:
        return 1

    def values(self, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
        out = np.zeros((len(jets), len(sites[0])))
        for row, jet in zip(out, jets, strict=True):
            evaluate = self.unknowns[jet.unknown]
            if evaluate is not None:
                row[:] = evaluate(sites[jet.site], jet.alpha)
        return out


def guess_of(given: Any, problem: Problem) -> Guess:
    """The guess that a person gave for one unknown, for all, or as a mapping of several."""
    unknowns = problem.unknowns
    if hasattr(given, "space") and hasattr(given, "coefficients"):
        return Guess(tuple(_of_solution(given, u) for u in unknowns))
    if not isinstance(given, Mapping):
        if len(unknowns) > 1:
            raise ProblemError(
                "guess",
                expected=f"a mapping with a start for some of {', '.join(str(u.func) for u in unknowns)}",
                got=repr(given),
                remedy=f"Write guess={{{unknowns[0].func}: 1.0}}, or give a Solution.",
            )
        given = {unknowns[0]: given}
    named = {str(u.func): u for u in unknowns}
    chosen: dict[Any, Any] = {}
    for key, value in given.items():
        name = str(key.func if isinstance(key, AppliedUndef) else key)
        if name not in named:
            raise ProblemError(
                "guess",
                expected=f"unknowns of the problem ({', '.join(named)})",
                got=repr(key),
                remedy="Use the unknowns as they stand in the equations.",
            )
        chosen[named[name]] = value
    return Guess(tuple(_one(chosen[u], u, problem) if u in chosen else None for u in unknowns))


def _one(value: Any, u: Any, problem: Problem) -> Evaluator:
    if hasattr(value, "space") and hasattr(value, "coefficients"):
        found = _of_solution(value, u)
        if found is None:
            raise ProblemError(
                f"guess[{u.func}]", expected=f"a solution with the unknown {u.func}", got=repr(value),
                remedy="Name what it is by another unknown, or give an expression.",
            )  # fmt: skip
        return found
    expression = as_expression(value, problem.coordinates, f"guess[{u.func}]")
    strange = expression.free_symbols - set(problem.coordinates) - set(problem.parameters)
    if strange:
        raise ProblemError(
            f"guess[{u.func}]",
            expected=f"an expression in {problem.coordinates}",
            got=f"the free symbol {', '.join(sorted(map(str, strange)))}",
            remedy="Give it a value with .subs({symbol: number}).",
        )
    if expression.has(sp.I) or expression.is_real is False:
        raise ProblemError(
            f"guess[{u.func}]",
            expected="a real start",
            got=expression,
            remedy="Write a complex equation as two real ones.",
        )
    if is_known(expression):
        return _fitted(value, u, problem)
    expression = expression.subs(problem.parameters)
    compiled: dict[MultiIndex, Any] = {}

    def evaluate(X: Array, alpha: MultiIndex) -> Array:
        if alpha not in compiled:
            e = expression
            for c, n in zip(problem.coordinates, alpha, strict=True):
                e = e.diff(c, n) if n else e
            compiled[alpha] = program(list(problem.coordinates), [e])
        with np.errstate(all="ignore"):
            value = compiled[alpha](*X.T)[0]
        return np.broadcast_to(np.asarray(value, dtype=float), (len(X),))

    return evaluate


def _of_solution(solution: Any, u: Any) -> Evaluator | None:
    names = [str(v.func) for v in solution.problem.unknowns]
    if str(u.func) not in names:
        return None
    k = names.index(str(u.func))

    def evaluate(X: Array, alpha: MultiIndex) -> Array:
        found = solution.space.values((X,), (Jet(k, alpha),), solution.coefficients)[0]
        return np.asarray(np.nan_to_num(found))

    return evaluate


def _fitted(function: Callable[..., Any], u: Any, problem: Problem) -> Evaluator:
    """A Python function as a sum of waves: it is called once, and then has derivatives."""
    box = box_of(problem.domain)
    rng = np.random.default_rng(0)
    basis = Waves(_FITTED, scale_for("waves", _FITTED, len(box))).draw(box, rng)
    X = np.asarray(problem.domain.interior(4 * _FITTED, rng), dtype=float)
    zero = (0,) * len(box)
    A = basis.jets(X, [zero])[0]
    given = Datum(None, function, tuple(range(len(box))), "known", domain=problem.domain)
    target = call_at_points(given, X, f"guess[{u.func}]")
    w = RidgeQR().factor_scaled(A, np.ones(len(A)), 1e-10).apply(target)
    return lambda Y, alpha: np.asarray(basis.jets(Y, [alpha])[0] @ w)
