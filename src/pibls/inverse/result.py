r"""The result of a fit: parameters θ̂ ± t √C_kk, intervals, bands, tests and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, floats
from pibls.errors import ProblemError
from pibls.expressions import Expression, Parameter, Unknown
from pibls.inverse.covariance import correlation_matrix, parameter_covariance
from pibls.inverse.experiment import Experiment
from pibls.inverse.fit_parameters import FitParameters
from pibls.inverse.full_solver import solution_at
from pibls.inverse.identifiability import Identifiability
from pibls.inverse.losses import influence
from pibls.inverse.misfit import Minimum, Misfit
from pibls.inverse.model_comparison import Comparison, compare_fits, information_criteria
from pibls.inverse.profile_likelihood import misfit_rise, profile_interval, t_quantile
from pibls.inverse.residual_tests import Residuals, assess_residuals, path_order
from pibls.inverse.unknown_function import Field
from pibls.runtime.caching import cached_property
from pibls.solution import Solution

if TYPE_CHECKING:
    pass

_BOUND_TOLERANCE = 1e-6  # of the width between the bounds


@dataclass(frozen=True, eq=False)
class Fit:
    """The fitted parameters with their covariance, and the solution at these values."""

    unknowns: FitParameters
    fields: tuple[Field, ...]
    """The unknown functions."""
    experiments: tuple[Experiment, ...]
    descent: Minimum
    misfit: Misfit
    identifiable: Identifiability
    """True if the data determine all parameters; as text it describes what they do not determine."""
    loss: str
    moved: float
    """The largest change of the predictions, in σ, by the full solve at the end."""
    seconds: float

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The symbols that were fitted."""
        return self.unknowns.symbols

    @cached_property
    def solutions(self) -> tuple[Solution, ...]:
        """The solution of each problem at the fitted values, with its error estimate; computed on access."""
        theta = self.descent.theta
        return tuple(
            e.space_solution
            if e.space_solution is not None
            and e.space_theta is not None
            and np.array_equal(e.space_theta, theta)
            else solution_at(e.problem_at(theta), e.settings)
            for e in self.experiments
        )

    @property
    def solution(self) -> Solution:
        """The solution at the fitted values; for several problems that of the first."""
        return self.solutions[0]

    @cached_property
    def values(self) -> dict[Parameter, float]:
        """The value of each parameter."""
        return dict(zip(self.parameters, map(float, self.descent.theta), strict=True))

    @cached_property
    def covariance(self) -> Array:
        """The covariance matrix, (parameters, parameters), in the order of ``parameters``."""
        d = self.descent
        if self.misfit.smoothing is not None:
            A = d.jacobian / d.sigma[:, None]
            return self.misfit.smoothing.covariance(A, A @ d.theta - d.residuals)
        return parameter_covariance(d.jacobian, d.theta, d.sigma, d.residuals, self.loss)

    @property
    def correlation(self) -> Array:
        """The correlation matrix, (parameters, parameters)."""
        return correlation_matrix(self.covariance)

    @cached_property
    def std(self) -> dict[Parameter, float]:
        """The standard deviation of each parameter; infinite if it is not determined."""
        return dict(zip(self.parameters, map(float, np.sqrt(np.diag(self.covariance))), strict=True))

    @property
    def converged(self) -> bool:
        """Whether the minimization has converged."""
        return self.descent.converged

    @property
    def estimated(self) -> bool:
        """Whether σ was estimated for some of the data."""
        return not all(self.misfit.sigma_is_given)

    @property
    def sigma(self) -> tuple[float, ...]:
        """The noise σ of each set of data: the median of the given values, or the estimate."""
        return tuple(float(np.median(self.descent.sigma[s])) for s in self.misfit.set_slices)

    @property
    def is_exact(self) -> bool:
        """Whether the estimated noise is as small as the errors of the solves."""
        tol = float(self.experiments[0].settings["tol"])
        small = [
            given or s <= tol * float(np.abs(self.misfit.y[part]).max())
            for s, given, part in zip(
                self.sigma, self.misfit.sigma_is_given, self.misfit.set_slices, strict=True
            )
        ]
        return self.estimated and all(small)

    @property
    def degrees(self) -> int:
        """Degrees of freedom: number of data minus effective number of parameters."""
        return max(len(self.misfit.y) - round(self.misfit.effective_parameters), 1)

    @property
    def at_bounds(self) -> tuple[Parameter, ...]:
        """Parameters at one of their bounds; their intervals are at best one-sided."""
        u, theta = self.unknowns, self.descent.theta
        width = np.where(np.isfinite(u.high - u.low), u.high - u.low, np.inf)
        near = np.minimum(theta - u.low, u.high - theta) <= _BOUND_TOLERANCE * np.where(
            np.isfinite(width), width, 0.0
        )
        return tuple(s for s, n in zip(self.parameters, near, strict=True) if n)

    def interval(
        self,
        parameter: Parameter | str,
        level: float = 0.95,
        method: Literal["covariance", "profile"] = "covariance",
    ) -> tuple[float, float]:
        """Return a confidence interval, from the covariance or from the profile of the misfit.

        The covariance assumes that the solution is linear in the parameters; the profile minimizes the misfit
        over all other parameters at each value, which takes many solves. Both are cut at the bounds.
        """
        k = self.unknowns.index_of(parameter, "interval")
        _check_level(level)
        best, std = self.descent.theta[k], np.sqrt(self.covariance[k, k])
        if method == "covariance":
            q = t_quantile(level, self.degrees, self.estimated)
            low, high = self.unknowns.low[k], self.unknowns.high[k]
            return float(max(best - q * std, low)), float(min(best + q * std, high))
        if method != "profile":
            raise ProblemError(
                "interval(method)",
                expected="'covariance' or 'profile'",
                got=repr(method),
                remedy="Write fit.interval(D, 0.95, method='profile').",
            )
        low, high = float(self.unknowns.low[k]), float(self.unknowns.high[k])
        step = std if np.isfinite(std) and std > 0 else 0.1 * (abs(best) or 1.0)
        rise = misfit_rise(level, self.degrees, self.estimated)
        found = profile_interval(self._profile(k), float(best), float(step), rise, low, high)
        self.misfit.predict(self.descent.theta)
        return found

    def _profile(self, k: int) -> Any:
        """Return x ↦ the rise of Σρ if parameter k is fixed at x and the others are optimal."""
        from scipy.optimize import least_squares

        d, u = self.descent, self.unknowns
        others = [i for i in range(len(u)) if i != k]
        scale = self.misfit.scale[others]

        def placed(x: float, z: Array) -> Array:
            theta = d.theta.copy()
            theta[k], theta[others] = x, z * scale
            return theta

        def cost(r: Array) -> float:
            if self.loss == "linear":
                return float(r @ r)
            # Σρ by integration of its derivative 2 r·ψ(s r) over s from 0 to 1.
            s = np.linspace(0.0, 1.0, 33)[1:]
            return float(np.mean([2.0 * r @ influence(self.loss, v * r)[0] for v in s]))

        least = cost(d.residuals)
        last = [d.theta[others] / scale]

        def profile(x: float) -> float:
            def fun(z: Array) -> Array:
                return np.asarray((self.misfit.predict(placed(x, z)) - self.misfit.y) / d.sigma)

            if not others:
                return cost(fun(np.empty(0))) - least
            margin = 1e-9 * np.where(np.isfinite(u.high - u.low), u.high - u.low, 1.0)[others]
            low, high = u.low[others], u.high[others]
            found = least_squares(
                fun,
                np.clip(last[0], (low + margin) / scale, (high - margin) / scale),
                jac=lambda z: self.misfit.jacobian(placed(x, z))[:, others] * scale / d.sigma[:, None],
                bounds=(low / scale, high / scale),
                x_scale="jac",
                loss=self.loss,
                xtol=1e-6,
                ftol=1e-9,
                max_nfev=30,
            )
            last[0] = found.x
            return cost(found.fun if self.loss == "linear" else fun(found.x)) - least

        return profile

    def function(
        self, field: Unknown | str, *points: npt.ArrayLike, level: float = 0.95
    ) -> tuple[Array, Array, Array]:
        """Return the value and the lower and upper end of the confidence band of an unknown function.

        ``field`` is the key used in ``fit(unknown=…)``: k(x), k, its name, or a `Field`; ``points`` are
        arrays of its arguments.
        """
        _check_level(level)
        field = self._find_field(field)
        places = [self.unknowns.index_of(s, "function") for s in field.symbols]
        arrays = np.broadcast_arrays(*(floats(p) for p in points))
        phi = field.basis_values([a.ravel() for a in arrays])
        value = phi @ self.descent.theta[places]
        C = self.covariance[np.ix_(places, places)]
        half = t_quantile(level, self.degrees, self.estimated) * np.sqrt(
            np.einsum("nk,kl,nl->n", phi, C, phi)
        )
        out = [v.reshape(arrays[0].shape) for v in (value, value - half, value + half)]
        a, b, c = (field.link.forward(v) for v in out)
        return (a, b, c) if np.all(b <= c) else (a, c, b)

    def _find_field(self, key: Unknown | str) -> Field:
        name = str(key).partition("(")[0]
        for f in self.fields:
            if key is f or name == f.name:
                return f
        names = ", ".join(f.name for f in self.fields) or "there is none"
        raise ProblemError(
            f"function({key})",
            expected=f"a function that was fitted ({names})",
            got=repr(key),
            remedy="Fit it: fit(…, unknown={k(x): None}).",
        )

    def band(
        self,
        expression: Expression | None = None,
        points: Any = None,
        level: float = 0.95,
        *,
        noise: float | bool = False,
        problem: int = 0,
    ) -> tuple[Array, Array, Array]:
        """Return the value and the lower and upper end of the confidence band of an expression.

        The points are ``{x: xs, t: ts}``. With ``noise`` it is a prediction band for new measurements: True
        for the σ of the data of that problem, or a number.
        """
        _check_level(level)
        e = self.experiments[problem]
        expression = e.problem.unknowns[0] if expression is None else expression
        if points is None:
            raise ProblemError(
                "band(points)",
                expected="a mapping of the coordinates to arrays",
                got="None",
                remedy="Write fit.band(u, {x: xs, t: 1.0}).",
            )
        from pibls.inverse.data import Data

        shape = np.broadcast_shapes(*(np.shape(v) for v in points.values()))
        where = Data(expression, points, np.zeros(shape)).points_in(e.problem)
        theta = self.descent.theta
        e.solve(theta)
        measured = e.observation(expression, where)
        value, slope = e.observation_value(measured, theta), e.observation_jacobian(measured, theta)
        C = np.where(np.isfinite(self.covariance), self.covariance, 0.0)
        variance = np.einsum("nk,kl,nl->n", slope, C, slope)
        undetermined = ~np.isfinite(np.diag(self.covariance))
        if undetermined.any():
            moves = np.abs(slope[:, undetermined]) * np.abs(theta[undetermined])
            variance = np.where((moves > 1e-6 * np.abs(value).max()).any(axis=1), np.inf, variance)
        if noise is not False:
            sets = [i for i, d in enumerate(d for x in self.experiments for d in x.data if x is e)]
            s = self.sigma[_first_set(self.experiments, problem) + sets[0]] if noise is True else float(noise)
            variance = variance + s**2
        half = t_quantile(level, self.degrees, self.estimated) * np.sqrt(variance)
        return value.reshape(shape), (value - half).reshape(shape), (value + half).reshape(shape)

    @cached_property
    def residuals(self) -> Residuals:
        """The residuals in units of σ, with tests of their independence and magnitude."""
        orders, start = [], 0
        for e in self.experiments:
            for d in e.data:
                orders.append(start + path_order(d.points_in(e.problem)))
                start += len(d)
        return assess_residuals(
            self.descent.residuals, orders, round(self.misfit.effective_parameters), self.estimated
        )

    @cached_property
    def _information(self) -> tuple[float, float]:
        sigma = self.descent.sigma.copy()
        squares = 0.0
        for part, given in zip(self.misfit.set_slices, self.misfit.sigma_is_given, strict=True):
            r = self.descent.residuals[part]
            if not given:  # the maximum-likelihood σ, without the correction for degrees of freedom
                sigma[part] = max(sigma[part][0] * float(np.sqrt(np.mean(r**2))), 1e-300)
                squares += len(r)
            else:
                squares += float(r @ r)
        free = sum(not g for g in self.misfit.sigma_is_given)
        n = len(self.misfit.y)
        return information_criteria(
            n, self.misfit.effective_parameters, squares, float(np.sum(np.log(sigma))), free
        )

    @property
    def aic(self) -> float:
        """Akaike's information criterion; smaller is better."""
        return self._information[0]

    @property
    def bic(self) -> float:
        """Schwarz's Bayesian information criterion; smaller is better."""
        return self._information[1]

    def compare(self, other: Fit) -> Comparison:
        """Compare this model with another one that was fitted to the same data."""
        mine, theirs = (
            (len(f.misfit.y), f.misfit.effective_parameters, f.squares, f.estimated) for f in (self, other)
        )
        return compare_fits(mine, theirs, self.aic - other.aic, self.bic - other.bic)

    @property
    def squares(self) -> float:
        """Σ r², in units of σ if it is given, otherwise in units of the data."""
        d = self.descent
        r = d.residuals
        return float(np.sum((r * d.sigma) ** 2)) if self.estimated else float(r @ r)

    def summary(self) -> str:
        """Return a text report: values, errors, correlations, and warnings."""
        from pibls.inverse.report import summary

        return summary(self)

    def plot(self, *, level: float = 0.95, ax: Any = None) -> Any:
        """Plot data, solution and confidence band, one colour for each time; return the figure."""
        from pibls.inverse.fit_plot import plot_fit

        return plot_fit(self, level=level, ax=ax)

    def __repr__(self) -> str:
        return f"<Fit: {', '.join(f'{k} = {v:.5g} ± {self.std[k]:.2g}' for k, v in self.values.items())}>"


def _first_set(experiments: tuple[Experiment, ...], problem: int) -> int:
    return sum(len(e.data) for e in experiments[:problem])


def _check_level(level: float) -> None:
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise ProblemError(
            "level", expected="a number between 0 and 1", got=repr(level), remedy="Write 0.95 for 95 %."
        )
