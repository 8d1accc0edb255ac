r"""The result of a solve: the approximation u(x) = A(x) w as a callable, with its error and status."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pibls.adaptive.validation.estimate import ErrorEstimate, KnownEstimate, Norms
from pibls.arrays import Array, floats
from pibls.basis import BroadWeights, broad_weights
from pibls.errors import ProblemError
from pibls.expressions import Expression, Unknown
from pibls.problem import Interior, PartialDerivative, Problem, SymbolTable, within
from pibls.problem.forms.checks import checked_expression, nesting_guard
from pibls.problem.forms.compilation import Residual, compile_form
from pibls.problem.forms.integral import integral
from pibls.runtime.caching import cached_property
from pibls.runtime.pickling import portable, state_of
from pibls.solution.accessors import SolutionAccessors
from pibls.solution.explanation import SLOW_STATUSES, explain
from pibls.solution.notes import Notes
from pibls.spaces import SingleDomainSpace, Space
from pibls.status import Status

if TYPE_CHECKING:
    from pibls.adaptive.budget import Progress

_SAMPLE_POINTS = 256  # at which max|u| is evaluated for a message


@dataclass(frozen=True)
class Solution(SolutionAccessors):
    """The solution u(x) = A(x) w of a problem, with its estimated error and residuals.

    Call it with one array per coordinate, in the order of ``problem.coordinates`` or by name; arrays
    broadcast. Points outside the domain give NaN.
    """

    problem: Problem
    space: Space
    coefficients: Array
    """w, (columns of the space,): the coefficients of the first unknown, then those of the second, …."""
    status: Status
    residuals: dict[str, Norms]
    seconds: float
    seed: int
    tol: float
    steps: int
    settings: dict[str, Any]
    history: tuple[Progress, ...]
    """A `Progress` for each candidate of an automatic solve."""
    estimator: Callable[[], ErrorEstimate] = field(compare=False)
    notes: Notes = field(default_factory=Notes, compare=False)
    """Further findings, such as the time at which an evolution stopped."""

    def __getstate__(self) -> dict[str, object]:
        estimator = KnownEstimate(self.error) if "error" in vars(self) else portable(self.estimator)
        return {**state_of(self), "estimator": estimator}

    def __copy__(self) -> Solution:
        return replace(self)

    @cached_property
    def error(self) -> ErrorEstimate:
        """Estimated absolute errors, ``.max`` and ``.l2``.

        An automatic solve has computed it. With a given basis the first access takes a second solve, with
        another scale and seed.
        """
        return self.estimator()

    @property
    def explanation(self) -> str:
        """The status as a sentence, followed by possible causes and by what is known of the solution."""
        is_slow = self.status in SLOW_STATUSES
        min_difference = self.tol * max(self._magnitudes.values()) if is_slow else 0.0
        return explain(self, self._max_residual, min_difference)

    @property
    def message(self) -> str:
        """The explanation, followed by the residual, the estimated error, the tolerance and the nodes."""
        text = f"{self.explanation} Held-out residual {self._max_residual:.1e} (relative)"
        if "error" in self.__dict__ or self.history:
            text += f", estimated error {self.error.max:.1e}"
            if math.isfinite(self.error.max):
                text += f" ({self._max_relative_error:.1e} of max|u|)"
            text += f", tol {self.tol:g} (relative)"
        return f"{text}; {self.nodes} nodes."

    @property
    def _max_residual(self) -> float:
        """The largest residual, relative to its terms."""
        return max((n.relative for n in self.residuals.values()), default=math.inf)

    @property
    def _max_relative_error(self) -> float:
        """The largest estimated error of an unknown, relative to its size."""
        shares = (self[u].error.max / size for u, size in self._magnitudes.items() if size > 0)
        return max(shares, default=0.0)

    @property
    def _magnitudes(self) -> dict[Unknown, float]:
        """max|u| of each unknown."""
        X = np.asarray(self.problem.domain.interior(_SAMPLE_POINTS, np.random.default_rng(0)), dtype=float)
        reach = self.space.known_range
        if reach is not None and self.windows:  # a solution that blows up is largest at a window's end
            ends = np.unique(self.windows)
            late = np.resize(X, (max(len(ends), len(X)), X.shape[1]))
            late[:, reach[0]] = np.resize(ends, len(late))
            X = np.concatenate([X, late])
        X = X.T
        with np.errstate(all="ignore"):
            values = {u: np.nan_to_num(np.abs(self[u](*X))) for u in self.problem.unknowns}
        return {u: float(v.max(initial=0.0)) for u, v in values.items()}

    @property
    def weights(self) -> BroadWeights:
        """The weights W_e, β_e, W_h, β_h and W_out of a solution in a `Broad` basis, as named arrays.

        u = [Z | H] W_out with Z = φ(X W_e + β_e), H = ξ(Z W_h + β_h) and X = (x - centre)/half:
        ``W_e`` (d, nk), ``beta_e`` (nk,), ``W_h`` (nk, mq), ``beta_h`` (mq,), ``W_out`` (nk + mq, unknowns),
        ``centre`` and ``half`` (d,).
        """
        found = self.space.by_kind(single_domain=self._broad_weights, other=lambda _: None)
        if found is None:
            raise ProblemError(
                "solution.weights",
                expected="a solution in a Broad basis",
                got=f"a solution in {self._basis_name}",
                remedy="Write pibls.solve(problem, basis=pibls.Broad(10, 10, 4, 10, scale=3.9)), or take "
                "solution.coefficients, the coefficients of any basis.",
            )
        return found

    def _broad_weights(self, whole: SingleDomainSpace) -> BroadWeights | None:
        if len(set(whole.basis_owners)) > 1:
            return None
        return broad_weights(whole.bases[0], self.coefficients.reshape(len(whole.bases), -1).T)

    @property
    def _basis_name(self) -> str:
        chosen = self.settings.get("basis")
        return type(self.space).__name__ if chosen is None else type(chosen).__name__

    @property
    def windows(self) -> tuple[tuple[float, float], ...]:
        """(start, stop) of each time window; empty if the solution was not computed in windows."""
        return self.space.time_windows

    @property
    def nodes(self) -> int:
        """The number of basis functions for each unknown."""
        return self.space.nodes

    @property
    def converged(self) -> bool:
        """Whether the status is a success; ``status.value`` is the reason."""
        return self.status.converged

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.problem.unknowns))
        return (
            f"<Solution {names}: {self.status.name}, {self.nodes} nodes, {self.seconds:.3g} s; "
            "print(solution.summary()) says more>"
        )

    def __call__(self, *coordinates: npt.ArrayLike, **named: npt.ArrayLike) -> Any:
        """Return u at these coordinates, for a problem with one unknown."""
        unknowns = self.problem.unknowns
        if len(unknowns) > 1:
            names = ", ".join(str(u.func) for u in unknowns)
            raise ProblemError(
                "solution(…)",
                expected="a problem with one unknown",
                got=f"{len(unknowns)} unknowns ({names})",
                remedy=f"Write solution[{unknowns[0].func}](…).",
            )
        return self.evaluate(unknowns[0], *coordinates, **named)

    def __getitem__(self, unknown: Unknown | str) -> Component:
        """Return one of several unknowns, given by the function itself or its name."""
        for u in self.problem.unknowns:
            if unknown is u or unknown is u.func or str(unknown) in (str(u), str(u.func)):
                return Component(self, u)
        raise ProblemError(
            "solution[unknown]",
            expected=f"one of {', '.join(str(u.func) for u in self.problem.unknowns)}",
            got=repr(unknown),
            remedy="Use the unknown as it stands in the equations.",
        )

    def evaluate(self, expression: Expression, *coordinates: npt.ArrayLike, **named: npt.ArrayLike) -> Any:
        """Return a SymPy expression of the unknowns and their derivatives at these coordinates.

        >>> import sympy as sp, pibls
        >>> x = sp.Symbol("x")
        >>> u = sp.Function("u")(x)
        >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])
        >>> solution = pibls.solve(problem)
        >>> round(float(solution.evaluate(u.diff(x) / u, 0.3)), 9)
        1.0
        """
        X, shape = self._broadcast_points(coordinates, named)
        with nesting_guard("expression"):
            compiled = _compiled(self.problem.symbol_table(), checked_expression(expression))
        residual = compiled.at(tuple(self.problem.parameters.values())).restricted_to(self.problem.domain)
        derivatives: tuple[PartialDerivative, ...] = (*residual.linear, *residual.nonlinear)
        inside = within(self.problem.domain, X)
        out = np.full(len(X), np.nan)
        X = X[inside]
        normals = np.zeros_like(X)
        values = self.space.values((X,), derivatives, self.coefficients)
        data = residual.data_function_values(X)
        k = len(residual.linear)
        a = residual.coefficients(X, normals, data)
        out[inside] = residual.rest(X, normals, data, values[k:]) + np.sum(a * values[:k], axis=0)
        return out.reshape(shape) if shape else np.float64(out[0])

    def _broadcast_points(
        self, coordinates: tuple[npt.ArrayLike, ...], named: dict[str, npt.ArrayLike]
    ) -> tuple[Array, tuple[int, ...]]:
        symbols = [str(c) for c in self.problem.coordinates]
        call = f"solution({', '.join(symbols)})"
        if coordinates and named:
            raise ProblemError(
                call,
                expected="coordinates by position or by name",
                got="both",
                remedy=f"Write {call}.",
            )
        if named:
            if sorted(named) != sorted(symbols):
                raise ProblemError(
                    call,
                    expected=f"the coordinates {', '.join(symbols)}",
                    got=", ".join(named),
                    remedy=f"Write solution({', '.join(f'{s}=…' for s in symbols)}).",
                )
            coordinates = tuple(named[s] for s in symbols)
        if len(coordinates) != len(symbols):
            raise ProblemError(
                call,
                expected=f"{len(symbols)} coordinates ({', '.join(symbols)})",
                got=f"{len(coordinates)}",
                remedy="Give one array or number per coordinate.",
            )
        return _point_rows(coordinates, call)

    def summary(self) -> str:
        """Return a few lines of text: problem, size, status, estimated error and residuals."""
        p = self.problem
        kind = "linear" if p.is_linear else "nonlinear"
        wanted = f" (wanted: {self.tol:g} of max|u|)" if self.history else ""
        steps = f"{self.steps} step{'s' * (self.steps != 1)}"
        lines = [
            f"{kind} problem for {', '.join(map(str, p.unknowns))} on {p.domain!r}",
            f"{self.nodes} nodes per unknown, {steps}, {self.seconds:.3g} s, seed {self.seed}",
            f"converged: {'yes' if self.converged else 'no'}. {self.explanation}",
            f"estimated error: {self.error}{wanted}",
            "residuals on held-out points:",
        ]
        lines += [f"  {name}: {norm}" for name, norm in self.residuals.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Component:
    """One unknown of a solution, as a callable."""

    solution: Solution
    unknown: Unknown

    def __call__(self, *coordinates: npt.ArrayLike, **named: npt.ArrayLike) -> Any:
        return self.solution.evaluate(self.unknown, *coordinates, **named)

    @property
    def error(self) -> ErrorEstimate:
        """The estimated error of this unknown."""
        whole = self.solution.error
        return whole.each[self.solution.problem.unknowns.index(self.unknown)] if whole.each else whole

    def __repr__(self) -> str:
        return f"<{self.unknown} of {self.solution.problem!r}>"


@lru_cache(maxsize=64)
def _compiled(language: SymbolTable, expression: Expression) -> Residual:
    """Return an expression as a NumPy function; cached, because quadratures call it thousands of times."""
    if expression.has(integral):
        raise ProblemError(
            "expression",
            expected="values and derivatives of the unknowns, at the point itself",
            got=sorted(expression.atoms(integral), key=str)[0],
            remedy="solution.integral(u, over=…) is an integral of a solution, a number with its error.",
        )
    form = language.form(expression, "expression")
    if form.needs_normal:
        raise ProblemError(
            "expression",
            expected="derivatives by the coordinates",
            got="dn(…), the normal derivative",
            remedy="Write the normal out: n_x*u.diff(x) + n_y*u.diff(y).",
        )
    if form.deltas:
        raise ProblemError("expression", expected="finite values", got="DiracDelta", remedy="Leave it out.")
    return compile_form(form, Interior())


def _point_rows(coordinates: tuple[npt.ArrayLike, ...], call: str) -> tuple[Array, tuple[int, ...]]:
    """Return the points of coordinate arrays that broadcast, (n, d), and the common shape."""
    try:
        if any(c is None for c in coordinates):
            raise TypeError("None")
        arrays = np.broadcast_arrays(*(floats(c) for c in coordinates))
    except (TypeError, ValueError) as reason:
        raise ProblemError(
            call,
            expected="numbers or arrays that broadcast against each other",
            got=str(reason),
            remedy="Use numpy.meshgrid for a grid of points.",
        ) from None
    return np.column_stack([a.ravel() for a in arrays]), arrays[0].shape
