r"""min_θ Σᵢ ρ((gᵢ(θ) - yᵢ)²/σᵢ²): Gauss-Newton with a trust region and bounds, on the misfit alone.

The equation is no term of the sum: each g is that of a solved problem. Where the noise is not known, one σ
for each set of data is estimated from its own misfit, and the sets are weighed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import PiblsError
from pibls.inverse.experiment import Experiment
from pibls.inverse.smoothing import Smoothing
from pibls.inverse.unknowns import Unknowns

_ROUNDS = 12  # of weighing the sets of data anew
_SETTLED = 0.5  # change of a smoothness, as a logarithm, that is none
_SAME = 1e-4  # change of a σ, relative, that is none
_MAD = 1.4826  # median of |ε| ↦ σ, for normal noise
_NOISE, _ROUGH = 1e-2, 1e-6  # changes of the misfit that solves with that tol make by themselves, relative
_TINY = 1e-14  # of the data: a noise that small is rounding


@dataclass(frozen=True)
class Descent:
    """Where the misfit is least, and how it was found."""

    theta: Array
    sigma: Array
    """Of each value."""
    residuals: Array
    """(g - y)/σ."""
    jacobian: Array
    """∂g/∂θ, (data, parameters)."""
    steps: int
    converged: bool
    why: str


@dataclass(frozen=True)
class FitProgress:
    """Where a fit is."""

    step: int
    misfit: float
    """The root of the mean of the squared residuals, in σ or in units of the data."""
    values: dict[Any, float]


@dataclass
class Misfit:
    """Σ ρ, as a function of θ/scale."""

    experiments: Sequence[Experiment]
    unknowns: Unknowns
    loss: str
    callback: Callable[[FitProgress], object] | None
    smoothing: Smoothing | None = None
    """Of the fields among the unknowns."""
    evaluations: int = 0
    freedom: float = 0.0
    """How many parameters the data have determined; less than there are where a penalty did the rest."""

    def __post_init__(self) -> None:
        data = [d for e in self.experiments for d in e.data]
        self.y = np.concatenate([d.values for d in data])
        ends = np.cumsum([0, *map(len, data)])
        self.sets = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.given = [d.sigma is not None for d in data]
        first = [d.sigma if d.sigma is not None else np.full(len(d), _spread(d.values)) for d in data]
        self.sigma = np.concatenate(first)
        self.scale = self.unknowns.scale

    def predict(self, theta: Array) -> Array:
        return np.concatenate([e.predict(theta) for e in self.experiments])

    def jacobian(self, theta: Array) -> Array:
        return np.concatenate([e.jacobian(theta) for e in self.experiments])

    def descend(self, start: Array, tolerance: float, max_steps: int) -> Descent:
        """From a start to the nearest minimum."""
        theta, steps = start, 0
        self.freedom = float(len(self.unknowns))
        self.scale = self._sizes(start)
        for round_ in range(_ROUNDS):
            if self.smoothing is not None:
                self._smooth(theta)
            found = self._least(theta, tolerance, max_steps)
            theta, steps = found.x * self.scale, steps + int(found.nfev)
            if self.smoothing is not None:
                strengths = np.array(self.smoothing.strengths)
                self._smooth(theta)
                if not all(self.given):
                    self._estimate(theta)
                if np.abs(np.log(self.smoothing.strengths / strengths)).max() < _SETTLED:
                    break
                continue
            if all(self.given):
                break
            before = self.sigma.copy()
            self._estimate(theta)
            alone = len(self.sets) == 1 and self.loss == "linear"
            if alone or (round_ and np.abs(self.sigma / before - 1).max() < _SAME):
                break
        r = (self.predict(theta) - self.y) / self.sigma
        return Descent(
            theta, self.sigma, r, self.jacobian(theta), steps, bool(found.status > 0), str(found.message)
        )

    def _sizes(self, start: Array) -> Array:
        """What a change of each is measured by: its start, its bounds, or what moves the data by their size.

        A coefficient that begins at zero may be of any size, and an end of the search is judged by it.
        """
        u = self.unknowns
        unsized = (u.start == 0) & ~np.isfinite(u.high - u.low)
        if not unsized.any():
            return u.scale
        moves = np.linalg.norm(self.jacobian(start) / self.sigma[:, None], axis=0)
        size = float(np.linalg.norm(self.y / self.sigma))
        natural = np.where(moves > 0, size / np.where(moves > 0, moves, 1.0), 1.0)
        return np.where(unsized & (size > 0), natural, u.scale)

    def _smooth(self, theta: Array) -> None:
        """The smoothness that the data want, from the problem linearised about θ."""
        assert self.smoothing is not None
        J = self.jacobian(theta)
        z = self.y - self.predict(theta) + J @ theta
        self.freedom = self.smoothing.choose(J / self.sigma[:, None], z / self.sigma)

    def _least(self, theta: Array, tolerance: float, max_steps: int) -> Any:
        from scipy.optimize import least_squares

        scale, u = self.scale, self.unknowns
        room = 1e-10 * np.where(np.isfinite(u.high - u.low), u.high - u.low, 1.0)
        first = np.clip(theta, u.low + room, u.high - room)
        penalty = np.zeros((0, len(u))) if self.smoothing is None else self.smoothing.rows(len(u))

        def fun(z: Array) -> Array:
            try:
                r = (self.predict(z * scale) - self.y) / self.sigma
            except (PiblsError, FloatingPointError):
                if not self.evaluations:
                    raise
                r = np.full(len(self.y), np.inf)  # a step that long is not taken
            self._tell(z * scale, r)
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
            ftol=max(tolerance**1.5, min(_NOISE * self.experiments[0].settings["tol"], _ROUGH)),
            gtol=1e-14,
            max_nfev=max_steps,
        )

    def _tell(self, theta: Array, r: Array) -> None:
        self.evaluations += 1
        if self.callback is not None:
            values = dict(zip(self.unknowns.symbols, map(float, theta), strict=True))
            self.callback(FitProgress(self.evaluations, float(np.sqrt(np.mean(r**2))), values))

    def _estimate(self, theta: Array) -> None:
        """σ of each set of data without one, from its own misfit."""
        r = self.predict(theta) - self.y
        free = self.freedom / len(r)
        for part, given in zip(self.sets, self.given, strict=True):
            if given:
                continue
            n = part.stop - part.start
            if self.loss == "linear":
                s = float(np.sqrt(np.sum(r[part] ** 2) / max(n * (1.0 - free), 0.5)))
            else:
                s = _MAD * float(np.median(np.abs(r[part])))
            floor = _TINY * max(float(np.abs(self.y[part]).max()), 1e-300)
            self.sigma[part] = max(s, floor)


def _spread(values: Array) -> float:
    spread = float(np.std(values))
    return spread or float(np.abs(values).max()) or 1.0
