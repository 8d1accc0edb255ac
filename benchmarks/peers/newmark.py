r"""Newmark-beta for a nonlinear spring: u'' + 4u + sin(u)/10 = f(t).

    u₊ = u + h v + h² ((½ - β) a + β a₊),   v₊ = v + h/2 (a + a₊),   a₊ = f₊ - 4u₊ - sin(u₊)/10

β = 1/4 (average acceleration) is the textbook method of structural dynamics: second order, unconditionally
stable. With β = 1/12 (Fox and Goodwin) the displacement is of fourth order if the initial value and the
velocities are corrected by the error h²/12 da/dt of the trapezoidal rule.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.adapter import CannotError, Outcome, Setting, Task
from pibls.arrays import Array
from pibls.cases.case import Case

_AVERAGE, _FOX_GOODWIN = 1.0 / 4.0, 1.0 / 12.0
_END = 2.5
_TABLE_STEPS = 72_000  # gives the error of the paper, 4.41e-10
_NEWTON_STEPS = 10


def source(t: Array) -> Array:
    """Return f of TC-10, whose solution is t sin t."""
    return 2.0 * np.cos(t) + 3.0 * t * np.sin(t) + 0.1 * np.sin(t * np.sin(t))


def source_rate(t: Array) -> Array:
    """Return df/dt."""
    s, c = np.sin(t), np.cos(t)
    return s + 3.0 * t * c + 0.1 * np.cos(t * s) * (s + t * c)


@dataclass(frozen=True)
class Motion:
    """Times, displacements and velocities; callable by cubic Hermite interpolation."""

    t: Array
    u: Array
    v: Array

    def __call__(self, t: Array) -> Array:
        i = np.clip(np.searchsorted(self.t, t) - 1, 0, len(self.t) - 2)
        h = self.t[i + 1] - self.t[i]
        s = (t - self.t[i]) / h
        rise = self.u[i + 1] - self.u[i]
        left, right = h * self.v[i] - rise, rise - h * self.v[i + 1]
        return np.asarray(self.u[i] + s * (rise + (1.0 - s) * ((1.0 - s) * left + s * right)))


def integrate(steps: int, beta: float) -> Motion:
    """Integrate from rest at t = 0 with equal steps; Newton's method for the acceleration in each."""
    t = np.linspace(0.0, _END, steps + 1)
    f = source(t).tolist()
    h = _END / steps
    sin, cos = math.sin, math.cos
    implicit, explicit, half = beta * h * h, (0.5 - beta) * h * h, 0.5 * h
    fourth = beta == _FOX_GOODWIN
    u, v, a = 0.0, 0.0, f[0]
    if fourth:
        v += h * h / 12.0 * float(source_rate(t[:1])[0])
    us, vs = [u], [v]
    for force in f[1:]:
        base = u + h * v + explicit * a
        new = a
        for _ in range(_NEWTON_STEPS):
            u = base + implicit * new
            change = (new + 4.0 * u + 0.1 * sin(u) - force) / (1.0 + implicit * (4.0 + 0.1 * cos(u)))
            new -= change
            # The next change is of order implicit·change², below rounding.
            if implicit * change * change <= 1e-17:
                break
        u = base + implicit * new
        v += half * (a + new)
        a = new
        us.append(u)
        vs.append(v)
    U, V = np.array(us), np.array(vs)
    if fourth:
        V = (V - h * h / 12.0 * source_rate(t)) / (1.0 - h * h / 12.0 * (4.0 + 0.1 * np.cos(U)))
    return Motion(t, U, V)


class NewmarkBeta:
    """Average acceleration in the table, Fox and Goodwin's β = 1/12 in the diagram."""

    name = "newmark"
    title = "Newmark-beta"
    packages = ()
    install = "pip install numpy"
    fairness = (
        "Plain Python over precomputed loads, Newton to rounding at every step, cubic Hermite polynomials "
        "between the steps. The step of the table is the one that gives the paper's error; fewer steps, and "
        "the fourth-order variant, are in the diagram."
    )

    def missing(self) -> str | None:
        return None

    def settings(self, case: Case) -> list[Setting]:
        if case.name != "TC-10":
            raise CannotError("Newmark-beta integrates equations of motion u'' = a(t, u): only TC-10 is one")
        return [
            *(_setting(steps, _AVERAGE) for steps in (100, 1000, 10_000)),
            _setting(_TABLE_STEPS, _AVERAGE, table=True),
            *(_setting(steps, _FOX_GOODWIN) for steps in (100, 400, 1600)),
        ]

    def run(self, task: Task) -> Outcome:
        values = task.setting.values
        integrate(100, values["beta"])  # warm-up
        began = time.perf_counter()
        motion = integrate(values["steps"], values["beta"])
        seconds = time.perf_counter() - began
        return Outcome(motion(task.points[:, 0]), seconds, facts={"steps": values["steps"]})


def _setting(steps: int, beta: float, *, table: bool = False) -> Setting:
    label = f"{'β = 1/4' if beta == _AVERAGE else 'β = 1/12'}, {steps} steps"
    return Setting(label, {"beta": beta, "gamma": 0.5, "steps": steps}, table=table)
