r"""The misfit Σᵢ ρ((gᵢ(θ) - yᵢ)²/σᵢ²) and its minimization by a trust-region method with bounds.

The equation is a constraint and not a term of the sum: each g is evaluated from a solved problem. If the
noise is not known, one σ for each set of data is estimated from its own misfit and weights the set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array
from pibls.errors import PiblsError
from pibls.expressions import Parameter
from pibls.inverse.experiment import Experiment
from pibls.inverse.fit_parameters import FitParameters
from pibls.inverse.roughness_penalty import Smoothing

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_MAX_REWEIGHTINGS = 12
_WEIGHT_TOLERANCE = 0.5  # change of ln λ at which the penalty weights have converged
_SIGMA_TOLERANCE = 1e-4  # relative change at which the estimates of σ have converged
_MAD_TO_SIGMA = 1.4826  # σ of normal noise over the median of |ε|
_FTOL_PER_TOL, _MAX_FTOL = 1e-2, 1e-6  # ftol is limited by the relative errors of the solves, through tol
_MIN_RELATIVE_SIGMA = 1e-14  # of the data; a smaller σ is rounding


@dataclass(frozen=True)
class Minimum:
    """The minimum of the misfit."""

    theta: Array
    sigma: Array
    """σ of each value, (data,)."""
    residuals: Array
    """(g - y)/σ."""
    jacobian: Array
    """∂g/∂θ, (data, parameters)."""
    steps: int
    converged: bool
    message: str


@dataclass(frozen=True)
class FitProgress:
    """The state of a running fit, passed to its callback."""

    step: int
    misfit: float
    """The root mean square of the residuals, in units of σ."""
    values: dict[Parameter, float]


@dataclass
class Misfit:
    """The misfit Σ ρ of all experiments, as a function of θ/scale."""

    experiments: Sequence[Experiment]
    unknowns: FitParameters
    loss: str
    callback: Callable[[FitProgress], object] | None
    smoothing: Smoothing | None = None
    """The penalties of the fields among the parameters."""
    evaluations: int = 0
    effective_parameters: float = 0.0
    """The effective number of parameters; smaller than their number if there is a penalty."""

    def __post_init__(self) -> None:
        data = [d for e in self.experiments for d in e.data]
        self.y = np.concatenate([d.values for d in data])
        ends = np.cumsum([0, *map(len, data)])
        self.set_slices = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.sigma_is_given = [d.sigma is not None for d in data]
        first = [d.sigma if d.sigma is not None else np.full(len(d), _initial_sigma(d.values)) for d in data]
        self.sigma = np.concatenate(first)
        self.scale = self.unknowns.scale

    def predict(self, theta: Array) -> Array:
        """Return g(θ) at the data of all experiments, (data,)."""
        return np.concatenate([e.predict(theta) for e in self.experiments])

    def jacobian(self, theta: Array) -> Array:
        """Return ∂g/∂θ at the data of all experiments, (data, parameters)."""
        return np.concatenate([e.jacobian(theta) for e in self.experiments])

    def minimize(self, start: Array, tolerance: float, max_steps: int) -> Minimum:
        """Minimize from a start value; σ and the penalty weights are re-estimated in between."""
        theta, steps = start, 0
        self.effective_parameters = float(len(self.unknowns))
        self.scale = self._parameter_scales(start)
        for round_ in range(_MAX_REWEIGHTINGS):
            if self.smoothing is not None:
                self._update_penalty(theta)
            found = self._least_squares(theta, tolerance, max_steps)
            theta, steps = found.x * self.scale, steps + int(found.nfev)
            if self.smoothing is not None:
                weights = np.array(self.smoothing.penalty_weights)
                self._update_penalty(theta)
                if not all(self.sigma_is_given):
                    self._estimate_sigma(theta)
                if np.abs(np.log(self.smoothing.penalty_weights / weights)).max() < _WEIGHT_TOLERANCE:
                    break
                continue
            if all(self.sigma_is_given):
                break
            before = self.sigma.copy()
            self._estimate_sigma(theta)
            alone = len(self.set_slices) == 1 and self.loss == "linear"
            if alone or (round_ and np.abs(self.sigma / before - 1).max() < _SIGMA_TOLERANCE):
                break
        r = (self.predict(theta) - self.y) / self.sigma
        return Minimum(
            theta, self.sigma, r, self.jacobian(theta), steps, bool(found.status > 0), str(found.message)
        )

    def _parameter_scales(self, start: Array) -> Array:
        """Return the scale of each parameter: from its start, its bounds, or its effect on the data.

        A coefficient that starts at zero without bounds gets the change that changes the data by their own
        magnitude, because the termination tests are relative to the scale.
        """
        u = self.unknowns
        unsized = (u.start == 0) & ~np.isfinite(u.high - u.low)
        if not unsized.any():
            return u.scale
        moves = np.linalg.norm(self.jacobian(start) / self.sigma[:, None], axis=0)
        size = float(np.linalg.norm(self.y / self.sigma))
        effect_scale = np.where(moves > 0, size / np.where(moves > 0, moves, 1.0), 1.0)
        return np.where(unsized & (size > 0), effect_scale, u.scale)

    def _update_penalty(self, theta: Array) -> None:
        """Estimate the penalty weights from the problem linearized about θ."""
        assert self.smoothing is not None
        J = self.jacobian(theta)
        z = self.y - self.predict(theta) + J @ theta
        self.effective_parameters = self.smoothing.choose_weights(J / self.sigma[:, None], z / self.sigma)

    def _least_squares(self, theta: Array, tolerance: float, max_steps: int) -> OptimizeResult:
        from scipy.optimize import least_squares

        scale, u = self.scale, self.unknowns
        margin = 1e-10 * np.where(np.isfinite(u.high - u.low), u.high - u.low, 1.0)
        first = np.clip(theta, u.low + margin, u.high - margin)
        penalty = np.zeros((0, len(u))) if self.smoothing is None else self.smoothing.rows(len(u))

        def fun(z: Array) -> Array:
            try:
                r = (self.predict(z * scale) - self.y) / self.sigma
            except (PiblsError, FloatingPointError):
                if not self.evaluations:
                    raise
                r = np.full(len(self.y), np.inf)  # the trust region then rejects the step
            self._report_progress(z * scale, r)
            return np.concatenate([r, penalty @ (z * scale)])

        def jac(z: Array) -> Array:
            return np.concatenate([self.jacobian(z * scale) / self.sigma[:, None], penalty]) * scale

        return least_squares(
            fun,
            first / scale,
            jac=jac,
            bounds=(u.low / scale, u.high / scale),
            x_scale="jac",
            loss=self.loss,
            xtol=tolerance,
            ftol=max(tolerance**1.5, min(_FTOL_PER_TOL * self.experiments[0].settings["tol"], _MAX_FTOL)),
            gtol=1e-14,
            max_nfev=max_steps,
        )

    def _report_progress(self, theta: Array, r: Array) -> None:
        self.evaluations += 1
        if self.callback is not None:
            values = dict(zip(self.unknowns.symbols, map(float, theta), strict=True))
            self.callback(FitProgress(self.evaluations, float(np.sqrt(np.mean(r**2))), values))

    def _estimate_sigma(self, theta: Array) -> None:
        """Estimate σ of each set of data without a given one from its own misfit."""
        r = self.predict(theta) - self.y
        free = self.effective_parameters / len(r)
        for part, given in zip(self.set_slices, self.sigma_is_given, strict=True):
            if given:
                continue
            n = part.stop - part.start
            if self.loss == "linear":
                s = float(np.sqrt(np.sum(r[part] ** 2) / max(n * (1.0 - free), 0.5)))
            else:
                s = _MAD_TO_SIGMA * float(np.median(np.abs(r[part])))
            floor = _MIN_RELATIVE_SIGMA * max(float(np.abs(self.y[part]).max()), 1e-300)
            self.sigma[part] = max(s, floor)


def _initial_sigma(values: Array) -> float:
    spread = float(np.std(values))
    return spread or float(np.abs(values).max()) or 1.0
