r"""u(x) = A(x) w: the callable result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from pibls.adaptive.validation.estimate import ErrorEstimate, KnownEstimate, Norms
from pibls.analysis.corners.clashes import clashes
from pibls.analysis.coverage import displaced, unbegun, uncovered
from pibls.arrays import Array, floats
from pibls.basis import BroadWeights, weights_of
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.pickling import portable, state_of
from pibls.problem import Inside, Jet, Language, Problem, within
from pibls.problem.forms.checks import checked_expression, limited_depth
from pibls.problem.forms.integral import integral
from pibls.problem.forms.lowering import Residual, lower_form
from pibls.solution.accessors import SolutionDoors
from pibls.spaces import Space
from pibls.status import Status

_NAMED = 3  # corners
_PLACES = 256  # at which max|u| is looked for, for a message
_HOLDS = 1e-6  # a residual with which equations hold, but for a function without bounds
_AS_ESTIMATED = "take what there is for as good as its estimated error says"
_UNBOUNDED = (
    "No solution: what comes closest to the equations and conditions grows without bounds, so that they "
    "contradict each other: a source in a closed box, a load at a resonance."
)
_SLOW = (Status.NODE_LIMIT, Status.SLOW, Status.TIME_LIMIT, Status.NO_SOLUTION)


@dataclass(frozen=True)
class Solution(SolutionDoors):
    """u(x) = A(x) w, with what is known about how good it is.

    Call it with one array per coordinate, in the order of ``problem.coordinates`` or by name; arrays
    broadcast. Points outside the domain give NaN.
    """

    problem: Problem
    space: Space
    coefficients: Array
    """w, the coefficients of the unknowns one after another, in the order of the columns of the space."""
    status: Status
    residuals: dict[str, Norms]
    seconds: float
    seed: int
    tol: float
    steps: int
    settings: dict[str, Any]
    history: tuple[Any, ...]
    """A `Progress` for each attempt of an automatic solve."""
    estimator: Callable[[], ErrorEstimate] = field(compare=False)
    notes: dict[str, Any] = field(default_factory=dict, compare=False)
    """What else is to be said: how far an evolution came, from when on no digit is left."""

    def __getstate__(self) -> dict[str, Any]:
        estimator = KnownEstimate(self.error) if "error" in vars(self) else portable(self.estimator)
        return {**state_of(self), "estimator": estimator}

    def __copy__(self) -> Solution:
        return replace(self)

    @cached_property
    def error(self) -> ErrorEstimate:
        """Estimated absolute errors, ``.max`` and ``.l2``.

        An automatic solve has it already. With a given basis it takes a second solve, at another
        scale and seed, when it is first asked for.
        """
        return self.estimator()

    @property
    def explanation(self) -> str:
        """The status in a sentence; where it went wrong, what is suspicious about the conditions."""
        text = self.status.value
        if self.status is Status.NO_SOLUTION and self._worst < _HOLDS:
            text = _UNBOUNDED
        elif _AS_ESTIMATED in text and not math.isfinite(self.error.max):
            text = text.replace(
                _AS_ESTIMATED, "begin with an easier problem: nothing bounds the error of what there is"
            )
        if "engine" in self.notes:
            text += f" The engine was lost: {self.notes['engine']}"
        bare = uncovered(self.problem) if self.status is Status.UNDETERMINED else ()
        least = self.tol * max(self._sizes.values()) if self.status in _SLOW else 0.0
        corners = clashes(self.problem, least) if self.status in _SLOW else ()
        if bare:
            text += f" No condition holds where {', '.join(bare)}."
        if self.status is Status.UNDETERMINED and (left := displaced(self.problem)):
            text += (
                f" Without on= a condition does not hold where another names its unknown: {'; '.join(left)}."
            )
        statements = [(s.region, s.form.jets) for s in self.problem.statements]
        if self.status is Status.UNDETERMINED and (missing := unbegun(self.problem.domain, statements)):
            time = self.problem.coordinates[-1]
            rates = [str(self.problem.unknowns[k].diff(time, j)) for k, j in missing]
            text += f" At the start {', '.join(rates)} is not given."
        if self.status is Status.UNSTABLE:
            text += f" Ripples of a tenth of the width grow by {self.notes['growth']:.0f} digits."
        if self.status is Status.NO_SOLUTION and "told" in self.notes:
            told = ", ".join(f"{name} by {miss:.1e}" for name, miss in self.notes["told"].items())
            text = (
                "No solution: conditions may contradict each other. Some are given where the equation and "
                f"the others decide already, and what these decide misses {told}. Leave them out, or give "
                "them where nothing is given yet."
            )
        if "imbalance" in self.notes:
            name, sources, through = self.notes["imbalance"]
            text = (
                f"No solution: in {name} the sources add up to {sources:.6g} over the domain, and the "
                f"conditions on the boundary to a flux of {through:.6g}, which would have to be the same. "
                "Change one of them, or give values on a part of the boundary."
            )
        if "stopped" in self.notes:
            until, why = self.notes["stopped"]
            text += f" It ends at {until:.6g}: {why}."
        for name, coordinate, levels in self.notes.get("function_jumps", ()):
            shown = ", ".join(f"{x:.6g}" for x in levels[:_NAMED])
            more = f" and {len(levels) - _NAMED} other places" if len(levels) > _NAMED else ""
            text += (
                f" The Python function {name} jumps at {coordinate} = {shown}{more}, as its samples show; "
                "breaks= or a Piecewise is safer where more jumps are between the samples, and faster."
            )
        if "promised" in self.notes:
            text += (
                " The initial data are not smooth, or not compatible with the boundary conditions: the "
                f"estimate holds for all times from {self.notes['promised']:.3g} on; error.over_time() has "
                "those before."
            )
        if self.status is Status.ROUGH and "promised" not in self.notes:
            text += " error.max covers all times, also those close to the start."
        later = [layer for layer in self.notes.get("layers", ()) if layer[1] != self.notes.get("promised")]
        if later:
            spans = ", ".join(f"{b - a:.2g} after {a:.6g}" for a, b in later[:_NAMED])
            text += (
                " What switches does not fit what was there before: the estimate leaves out the times until "
                f"{spans}{' and others' if len(later) > _NAMED else ''}; error.over_time() has them."
            )
        if self.notes.get("lost") is not None:
            text += f" No digit is left after {self.notes['lost']:.6g}."
        if corners:
            more = f"; and {len(corners) - _NAMED} more" if len(corners) > _NAMED else ""
            named = "; ".join(corners[:_NAMED])
            text += f" The solution is singular in corners, and converges slowly: {named}{more}."
        return text

    @property
    def message(self) -> str:
        """The explanation, with its numbers."""
        text = f"{self.explanation} Held-out residual {self._worst:.1e} (relative)"
        if "error" in self.__dict__ or self.history:
            text += f", estimated error {self.error.max:.1e}"
            if math.isfinite(self.error.max):
                text += f" ({self._share:.1e} of max|u|)"
            text += f", tol {self.tol:g} (relative)"
        return f"{text}; {self.nodes} nodes."

    @property
    def _worst(self) -> float:
        """The largest residual, relative to its terms."""
        return max((n.relative for n in self.residuals.values()), default=math.inf)

    @property
    def _share(self) -> float:
        """The largest estimated error of an unknown, relative to its size."""
        shares = (self[u].error.max / size for u, size in self._sizes.items() if size > 0)
        return max(shares, default=0.0)

    @property
    def _sizes(self) -> dict[Any, float]:
        """max|u| of each unknown."""
        X = np.asarray(self.problem.domain.interior(_PLACES, np.random.default_rng(0)), dtype=float)
        reach = self.space.reach
        if reach is not None and self.windows:  # what blows up is largest at the end of its last window
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
        """W_e, β_e, W_h, β_h and W_out of a solution in a `Broad` basis, as arrays by name.

        u = [Z | H] W_out with Z = φ(X W_e + β_e), H = ξ(Z W_h + β_h) and X = (x - centre)/half:
        ``W_e`` (d, nk), ``beta_e`` (nk,), ``W_h`` (nk, mq), ``beta_h`` (mq,), ``W_out`` (nk + mq, unknowns),
        ``centre`` and ``half`` (d,).
        """
        whole, found = self.space.whole, None
        if whole is not None and len(set(whole.owners)) == 1:
            W_out = self.coefficients.reshape(len(whole.bases), -1).T
            found = weights_of(whole.bases[0], W_out)
        if found is None:
            raise ProblemError(
                "solution.weights",
                expected="a solution in a Broad basis",
                got=f"a solution in {self._kind}",
                remedy="Write pibls.solve(problem, basis=pibls.Broad(10, 10, 4, 10, scale=3.9)), or take "
                "solution.coefficients, the coefficients of any basis.",
            )
        return found

    @property
    def _kind(self) -> str:
        chosen = self.settings.get("basis")
        return type(self.space).__name__ if chosen is None else type(chosen).__name__

    @property
    def windows(self) -> tuple[tuple[float, float], ...]:
        """(start, stop) of each window in time; empty where the solution is in one piece."""
        return self.space.windows

    @property
    def nodes(self) -> int:
        """The number of basis functions for each unknown."""
        return self.space.nodes

    @property
    def converged(self) -> bool:
        """Whether the outcome is a solution; ``status.value`` says why or why not."""
        return self.status.converged

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.problem.unknowns))
        return (
            f"<Solution {names}: {self.status.name}, {self.nodes} nodes, {self.seconds:.3g} s; "
            "print(solution.summary()) says more>"
        )

    def __call__(self, *coordinates: Any, **named: Any) -> Any:
        """u at these coordinates, for a problem with one unknown."""
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

    def __getitem__(self, unknown: Any) -> Component:
        """One of several unknowns, by the function itself or its name."""
        for u in self.problem.unknowns:
            if unknown is u or unknown is u.func or str(unknown) in (str(u), str(u.func)):
                return Component(self, u)
        raise ProblemError(
            "solution[unknown]",
            expected=f"one of {', '.join(str(u.func) for u in self.problem.unknowns)}",
            got=repr(unknown),
            remedy="Use the unknown as it stands in the equations.",
        )

    def evaluate(self, expression: Any, *coordinates: Any, **named: Any) -> Any:
        """Any SymPy expression of the unknowns and their derivatives at these coordinates.

        >>> import sympy as sp, pibls
        >>> x = sp.Symbol("x")
        >>> u = sp.Function("u")(x)
        >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])
        >>> solution = pibls.solve(problem)
        >>> round(float(solution.evaluate(u.diff(x) / u, 0.3)), 9)
        1.0
        """
        X, shape = self._points(coordinates, named)
        with limited_depth("expression"):
            compiled = _compiled(self.problem.language(), checked_expression(expression))
        residual = compiled.at(tuple(self.problem.parameters.values())).on(self.problem.domain)
        jets: tuple[Jet, ...] = (*residual.linear, *residual.nonlinear)
        inside = within(self.problem.domain, X)
        out = np.full(len(X), np.nan)
        X = X[inside]
        normals = np.zeros_like(X)
        values = self.space.values((X,), jets, self.coefficients)
        data = residual.known_data(X)
        k = len(residual.linear)
        a = residual.coefficients(X, normals, data)
        out[inside] = residual.rest(X, normals, data, values[k:]) + np.sum(a * values[:k], axis=0)
        return out.reshape(shape) if shape else np.float64(out[0])

    def _points(self, coordinates: tuple[Any, ...], named: dict[str, Any]) -> tuple[Array, tuple[int, ...]]:
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

    def summary(self) -> str:
        """A few lines that say what was solved, how, and how well."""
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
    """One unknown of a solution, as a function."""

    solution: Solution
    unknown: Any

    def __call__(self, *coordinates: Any, **named: Any) -> Any:
        return self.solution.evaluate(self.unknown, *coordinates, **named)

    @property
    def error(self) -> ErrorEstimate:
        """The estimated error of this unknown."""
        whole = self.solution.error
        return whole.each[self.solution.problem.unknowns.index(self.unknown)] if whole.each else whole

    def __repr__(self) -> str:
        return f"<{self.unknown} of {self.solution.problem!r}>"


@lru_cache(maxsize=64)
def _compiled(language: Language, expression: Any) -> Residual:
    """An expression as a NumPy function, once: a quadrature asks for thousands of single values."""
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
    return lower_form(form, Inside())
