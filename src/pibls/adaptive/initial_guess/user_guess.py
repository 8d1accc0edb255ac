"""Initial guess given by the user: a number, an expression, a Python function or a solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import Array, MultiIndex
from pibls.basis import RandomFourierFeatures
from pibls.basis.scale import scale_for
from pibls.errors import ProblemError
from pibls.geometry import box_of
from pibls.linalg import RidgeQR
from pibls.problem import PartialDerivative, Problem
from pibls.problem.forms.compiled_expressions import compile_expressions
from pibls.problem.forms.data_functions import DataFunction, call_at_points
from pibls.problem.forms.known import as_expression, is_known
from pibls.spaces import Space

Evaluator = Callable[[Array, MultiIndex], Array]
_FIT_NODES = 128  # random features that approximate a Python function, which gives its derivatives


@dataclass(frozen=True)
class InitialGuess(Space):
    """One function per unknown with its derivatives; unknowns that are not given are zero."""

    evaluators: tuple[Evaluator | None, ...]

    @property
    def columns(self) -> int:
        return 0

    @property
    def unknowns(self) -> int:
        return len(self.evaluators)

    @property
    def nodes(self) -> int:
        return 1

    def values(self, sites: tuple[Array, ...], derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        out = np.zeros((len(derivatives), len(sites[0])))
        for row, derivative in zip(out, derivatives, strict=True):
            evaluate = self.evaluators[derivative.unknown]
            if evaluate is not None:
                row[:] = evaluate(sites[derivative.site], derivative.alpha)
        return out


def parse_guess(given: Any, problem: Problem) -> InitialGuess:
    """Return the initial guess from one value, a mapping of unknowns, or a Solution."""
    unknowns = problem.unknowns
    if hasattr(given, "space") and hasattr(given, "coefficients"):
        return InitialGuess(tuple(_from_solution(given, u) for u in unknowns))
    if not isinstance(given, Mapping):
        if len(unknowns) > 1:
            raise ProblemError(
                "guess",
                expected="a mapping with an initial guess for some of "
                f"{', '.join(str(u.func) for u in unknowns)}",
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
    return InitialGuess(tuple(_parse_one(chosen[u], u, problem) if u in chosen else None for u in unknowns))


def _parse_one(value: Any, u: Any, problem: Problem) -> Evaluator:
    if hasattr(value, "space") and hasattr(value, "coefficients"):
        found = _from_solution(value, u)
        if found is None:
            raise ProblemError(
                f"guess[{u.func}]", expected=f"a solution with the unknown {u.func}", got=repr(value),
                remedy="Give a solution that has this unknown, or an expression.",
            )  # fmt: skip
        return found
    expression = as_expression(value, problem.coordinates, f"guess[{u.func}]")
    unknown_symbols = expression.free_symbols - set(problem.coordinates) - set(problem.parameters)
    if unknown_symbols:
        raise ProblemError(
            f"guess[{u.func}]",
            expected=f"an expression in {problem.coordinates}",
            got=f"the free symbol {', '.join(sorted(map(str, unknown_symbols)))}",
            remedy="Give it a value with .subs({symbol: number}).",
        )
    if expression.has(sp.I) or expression.is_real is False:
        raise ProblemError(
            f"guess[{u.func}]",
            expected="a real initial guess",
            got=expression,
            remedy="Write a complex equation as two real ones.",
        )
    if is_known(expression):
        return _fit_function(value, u, problem)
    expression = expression.subs(problem.parameters)
    compiled: dict[MultiIndex, Any] = {}

    def evaluate(X: Array, alpha: MultiIndex) -> Array:
        if alpha not in compiled:
            e = expression
            for c, n in zip(problem.coordinates, alpha, strict=True):
                e = e.diff(c, n) if n else e
            compiled[alpha] = compile_expressions(list(problem.coordinates), [e])
        with np.errstate(all="ignore"):
            value = compiled[alpha](*X.T)[0]
        return np.broadcast_to(np.asarray(value, dtype=float), (len(X),))

    return evaluate


def _from_solution(solution: Any, u: Any) -> Evaluator | None:
    names = [str(v.func) for v in solution.problem.unknowns]
    if str(u.func) not in names:
        return None
    k = names.index(str(u.func))

    def evaluate(X: Array, alpha: MultiIndex) -> Array:
        found = solution.space.values((X,), (PartialDerivative(k, alpha),), solution.coefficients)[0]
        return np.asarray(np.nan_to_num(found))

    return evaluate


def _fit_function(function: Callable[..., Any], u: Any, problem: Problem) -> Evaluator:
    """Approximate a Python function by random features, which provide its derivatives."""
    box = box_of(problem.domain)
    rng = np.random.default_rng(0)
    basis = RandomFourierFeatures(_FIT_NODES, scale_for("waves", _FIT_NODES, len(box))).draw(box, rng)
    X = np.asarray(problem.domain.interior(4 * _FIT_NODES, rng), dtype=float)
    zero = (0,) * len(box)
    A = basis.jets(X, [zero])[0]
    given = DataFunction(None, function, tuple(range(len(box))), "known", domain=problem.domain)
    target = call_at_points(given, X, f"guess[{u.func}]")
    w = RidgeQR().factor_scaled(A, np.ones(len(A)), 1e-10).apply(target)
    return lambda Y, alpha: np.asarray(basis.jets(Y, [alpha])[0] @ w)
