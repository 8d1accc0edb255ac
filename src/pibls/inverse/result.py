r"""θ̂ ± t √C_kk: what the data say, and how surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pibls.arrays import Array, floats
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.inverse.compare import Comparison, compared, information
from pibls.inverse.covariance import correlation_of, covariance_of
from pibls.inverse.experiment import Experiment
from pibls.inverse.field import Field
from pibls.inverse.losses import weight_of
from pibls.inverse.misfit import Descent, Misfit
from pibls.inverse.noise import Residuals, residuals_of, way_through
from pibls.inverse.profile import profile_interval, rise_of, t_quantile
from pibls.inverse.resolve import solution_at
from pibls.inverse.unknowns import Unknowns
from pibls.inverse.verdict import Verdict
from pibls.solution import Solution

_AT_BOUND = 1e-6  # of the width


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters with their covariance, and the solution at them."""

    unknowns: Unknowns
    fields: tuple[Field, ...]
    """The unknown functions."""
    experiments: tuple[Experiment, ...]
    descent: Descent
    misfit: Misfit
    identifiable: Verdict
    """True where the data determine all parameters; as text it says what they do not."""
    loss: str
    moved: float
    """How far the values moved, in σ, when the space was searched for anew at the end."""
    seconds: float

    @property
    def parameters(self) -> tuple[Any, ...]:
        """The symbols that were fitted."""
        return self.unknowns.symbols

    @cached_property
    def solutions(self) -> tuple[Solution, ...]:
        """The solution of each problem at the values, with its error estimate; solved when asked for."""
        theta = self.descent.theta
        return tuple(
            e.found
            if e.found is not None and e.searched is not None and np.array_equal(e.searched, theta)
            else solution_at(e.at(theta), e.settings)
            for e in self.experiments
        )

    @property
    def solution(self) -> Solution:
        """The solution at the values; of several problems that of the first."""
        return self.solutions[0]

    @cached_property
    def values(self) -> dict[Any, float]:
        """The value of each parameter."""
        return dict(zip(self.parameters, map(float, self.descent.theta), strict=True))

    @cached_property
    def covariance(self) -> Array:
        """(parameters, parameters), in the order of ``parameters``."""
        d = self.descent
        if self.misfit.smoothing is not None:
            A = d.jacobian / d.sigma[:, None]
            return self.misfit.smoothing.covariance(A, A @ d.theta - d.residuals)
        return covariance_of(d.jacobian, d.theta, d.sigma, d.residuals, self.loss)

    @property
    def correlation(self) -> Array:
        return correlation_of(self.covariance)

    @cached_property
    def std(self) -> dict[Any, float]:
        """The standard deviation of each parameter; infinite where it is not determined."""
        return dict(zip(self.parameters, map(float, np.sqrt(np.diag(self.covariance))), strict=True))

    @property
    def converged(self) -> bool:
        return self.descent.converged

    @property
    def estimated(self) -> bool:
        """Whether σ was estimated for some of the data."""
        return not all(self.misfit.given)

    @property
    def sigma(self) -> tuple[float, ...]:
        """The noise of each set of data: the median of what was given, or the estimate."""
        return tuple(float(np.median(self.descent.sigma[s])) for s in self.misfit.sets)

    @property
    def is_exact(self) -> bool:
        """Whether the estimated noise is so small that it is the error of the solves."""
        tol = float(self.experiments[0].settings["tol"])
        small = [
            given or s <= tol * float(np.abs(self.misfit.y[part]).max())
            for s, given, part in zip(self.sigma, self.misfit.given, self.misfit.sets, strict=True)
        ]
        return self.estimated and all(small)

    @property
    def degrees(self) -> int:
        """Data less parameters."""
        return max(len(self.misfit.y) - round(self.misfit.freedom), 1)

    @property
    def at_bounds(self) -> tuple[Any, ...]:
        """Parameters that ended on one of their bounds: their intervals are one-sided at best."""
        u, theta = self.unknowns, self.descent.theta
        width = np.where(np.isfinite(u.high - u.low), u.high - u.low, np.inf)
        near = np.minimum(theta - u.low, u.high - theta) <= _AT_BOUND * np.where(
            np.isfinite(width), width, 0.0
        )
        return tuple(s for s, n in zip(self.parameters, near, strict=True) if n)

    def interval(
        self, parameter: Any, level: float = 0.95, method: Literal["covariance", "profile"] = "covariance"
    ) -> tuple[float, float]:
        """A confidence interval, from the covariance or from the profile of the misfit.

        The covariance takes the solution for linear in the parameters nearby; the profile solves again and
        again, with all other parameters at their best. Both end at the bounds.
        """
        k = self.unknowns.find(parameter, "interval")
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
        rise = rise_of(level, self.degrees, self.estimated)
        found = profile_interval(self._profile(k), float(best), float(step), rise, low, high)
        self.misfit.predict(self.descent.theta)
        return found

    def _profile(self, k: int) -> Any:
        """x ↦ how much Σρ rises when parameter k is held at x and the others are at their best."""
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
            # Σρ, from its slope along the residuals: ρ' is what ψ is made of.
            s = np.linspace(0.0, 1.0, 33)[1:]
            return float(np.mean([2.0 * r @ weight_of(self.loss, v * r)[0] for v in s]))

        least = cost(d.residuals)
        last = [d.theta[others] / scale]

        def profile(x: float) -> float:
            def fun(z: Array) -> Array:
                return np.asarray((self.misfit.predict(placed(x, z)) - self.misfit.y) / d.sigma)

            if not others:
                return cost(fun(np.empty(0))) - least
            room = 1e-9 * np.where(np.isfinite(u.high - u.low), u.high - u.low, 1.0)[others]
            low, high = u.low[others], u.high[others]
            found = least_squares(
                fun,
                np.clip(last[0], (low + room) / scale, (high - room) / scale),
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

    def function(self, field: Any, *points: Any, level: float = 0.95) -> tuple[Array, Array, Array]:
        """Value, lower and upper end of the band of an unknown function at points of its arguments.

        ``field`` is what was asked for: k(x), k, its name, or a `Field`.
        """
        _check_level(level)
        field = self._field(field)
        places = [self.unknowns.find(s, "function") for s in field.symbols]
        arrays = np.broadcast_arrays(*(floats(p) for p in points))
        phi = field.table([a.ravel() for a in arrays])
        value = phi @ self.descent.theta[places]
        C = self.covariance[np.ix_(places, places)]
        half = t_quantile(level, self.degrees, self.estimated) * np.sqrt(
            np.einsum("nk,kl,nl->n", phi, C, phi)
        )
        out = [v.reshape(arrays[0].shape) for v in (value, value - half, value + half)]
        a, b, c = (field.link.forward(v) for v in out)
        return (a, b, c) if np.all(b <= c) else (a, c, b)

    def _field(self, key: Any) -> Field:
        name = str(key).partition("(")[0]
        for f in self.fields:
            if key is f or name == f.name:
                return f
        names = ", ".join(f.name for f in self.fields) or "there is none"
        raise ProblemError(
            f"function({key})",
            expected=f"a function that was fitted ({names})",
            got=repr(key),
            remedy="Ask for it: fit(…, unknown={k(x): None}).",
        )

    def band(
        self,
        expression: Any = None,
        points: Any = None,
        level: float = 0.95,
        *,
        noise: float | bool = False,
        problem: int = 0,
    ) -> tuple[Array, Array, Array]:
        """Value, lower and upper end of the band on an expression at points ``{x: xs, t: ts}``.

        With ``noise`` the band holds new measurements too: True for the σ of the data of that problem, or a
        number.
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
        measured = e.measured(expression, where)
        value, slope = e.value(measured, theta), e.slope(measured, theta)
        C = np.where(np.isfinite(self.covariance), self.covariance, 0.0)
        variance = np.einsum("nk,kl,nl->n", slope, C, slope)
        loose = ~np.isfinite(np.diag(self.covariance))
        if loose.any():
            moves = np.abs(slope[:, loose]) * np.abs(theta[loose])
            variance = np.where((moves > 1e-6 * np.abs(value).max()).any(axis=1), np.inf, variance)
        if noise is not False:
            sets = [i for i, d in enumerate(d for x in self.experiments for d in x.data if x is e)]
            s = self.sigma[_first_set(self.experiments, problem) + sets[0]] if noise is True else float(noise)
            variance = variance + s**2
        half = t_quantile(level, self.degrees, self.estimated) * np.sqrt(variance)
        return value.reshape(shape), (value - half).reshape(shape), (value + half).reshape(shape)

    @cached_property
    def residuals(self) -> Residuals:
        """The residuals in units of σ, and whether they look like noise."""
        orders, start = [], 0
        for e in self.experiments:
            for d in e.data:
                orders.append(start + way_through(d.points_in(e.problem)))
                start += len(d)
        return residuals_of(self.descent.residuals, orders, round(self.misfit.freedom), self.estimated)

    @cached_property
    def _information(self) -> tuple[float, float]:
        sigma = self.descent.sigma.copy()
        squares = 0.0
        for part, given in zip(self.misfit.sets, self.misfit.given, strict=True):
            r = self.descent.residuals[part]
            if not given:  # the most likely σ, which is that of the misfit without any correction
                sigma[part] = max(sigma[part][0] * float(np.sqrt(np.mean(r**2))), 1e-300)
                squares += len(r)
            else:
                squares += float(r @ r)
        free = sum(not g for g in self.misfit.given)
        n = len(self.misfit.y)
        return information(n, self.misfit.freedom, squares, float(np.sum(np.log(sigma))), free)

    @property
    def aic(self) -> float:
        """Akaike's criterion: smaller is better."""
        return self._information[0]

    @property
    def bic(self) -> float:
        """Schwarz's criterion: smaller is better."""
        return self._information[1]

    def compare(self, other: Fit) -> Comparison:
        """This model against another one, fitted to the same data."""
        mine, theirs = ((len(f.misfit.y), f.misfit.freedom, f.squares, f.estimated) for f in (self, other))
        return compared(mine, theirs, self.aic - other.aic, self.bic - other.bic)

    @property
    def squares(self) -> float:
        """Σ r²: in units of σ where that is given, otherwise in those of the data."""
        d = self.descent
        r = d.residuals
        return float(np.sum((r * d.sigma) ** 2)) if self.estimated else float(r @ r)

    def summary(self) -> str:
        """The report: values, errors, correlations, and what is doubtful."""
        from pibls.inverse.report import summary

        return summary(self)

    def plot(self, *, level: float = 0.95, ax: Any = None) -> Any:
        """Data, solution and band; one colour for each time. Returns the figure."""
        from pibls.inverse.picture import picture

        return picture(self, level=level, ax=ax)

    def __repr__(self) -> str:
        return f"<Fit: {', '.join(f'{k} = {v:.5g} ± {self.std[k]:.2g}' for k, v in self.values.items())}>"


def _first_set(experiments: tuple[Experiment, ...], problem: int) -> int:
    return sum(len(e.data) for e in experiments[:problem])


def _check_level(level: Any) -> None:
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise ProblemError(
            "level", expected="a number between 0 and 1", got=repr(level), remedy="Write 0.95 for 95 %."
        )
