r"""Inverse problems by `pibls.fit` and by DeepXDE: a diffusivity, and the parameters of Lorenz's equations.

python -m benchmarks.inverse            missing results only: two problems, exact and noisy data
python -m benchmarks.inverse --again    all results

The two inverse problems of the examples of DeepXDE: equations, data, points, networks, learning rate and
number of steps are those of the examples (except that the data of Lorenz's equations are computed here at 25
times). Besides exact data there are noisy data with σ = 2 % of the standard deviation of the values. Both
methods start from the values of the example. Seconds are CPU seconds of one thread.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls.arrays import Array

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "fit_deepxde.json"
NOISE = (0.0, 0.02)


@dataclass(frozen=True)
class Example:
    """An inverse problem of the DeepXDE examples, with its data and true parameters."""

    name: str
    true: tuple[float, ...]
    values: Array
    """Data without noise, shape (data sets, points)."""
    fit: Callable[[Array], pibls.Fit]
    train: Callable[[Array], list[float]]


def lorenz() -> Example:
    """Return the example with three parameters of Lorenz's equations on [0, 3], data at 25 times."""
    from scipy.integrate import solve_ivp

    true, begin = (10.0, 15.0, 8.0 / 3.0), (-8.0, 7.0, 27.0)
    times = np.linspace(0.0, 3.0, 26)[1:]

    def right(_: float, v: Array) -> list[float]:
        a, b, c = true
        return [a * (v[1] - v[0]), v[0] * (b - v[2]) - v[1], v[0] * v[1] - c * v[2]]

    values = solve_ivp(right, (0, 3), begin, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=times).y
    t = sp.Symbol("t")
    constants = sp.symbols("a b c")
    a, b, c = constants
    unknowns = [sp.Function(n)(t) for n in ("X", "Y", "Z")]
    X, Y, Z = unknowns

    def fit(measured: Array) -> pibls.Fit:
        problem = pibls.Problem(
            pibls.Interval(t, 0, 3),
            [X.diff(t) - a * (Y - X), Y.diff(t) - X * (b - Z) + Y, Z.diff(t) - X * Y + c * Z],
            [pibls.Initial(u, v) for u, v in zip(unknowns, begin, strict=True)],
            dict.fromkeys(constants, 1.0),
        )
        data = [pibls.Data(u, {t: times}, v) for u, v in zip(unknowns, measured, strict=True)]
        return pibls.fit(problem, data, dict.fromkeys(constants, (0, 30)))

    def train(measured: Array) -> list[float]:
        import deepxde as dde

        C = [dde.Variable(1.0) for _ in true]

        def equations(s: Any, v: Any) -> list[Any]:
            p, q, w = v[:, 0:1], v[:, 1:2], v[:, 2:3]
            rates = [dde.grad.jacobian(v, s, i=i) for i in range(3)]
            return [rates[0] - C[0] * (q - p), rates[1] - p * (C[1] - w) + q, rates[2] - p * q + C[2] * w]

        line = dde.geometry.TimeDomain(0, 3)
        at = times[:, None]
        starts = [
            dde.icbc.IC(line, _constant(v), lambda _, first: first, component=i) for i, v in enumerate(begin)
        ]
        seen = [dde.icbc.PointSetBC(at, m[:, None], component=i) for i, m in enumerate(measured)]
        data = dde.data.PDE(line, equations, [*starts, *seen], num_domain=400, num_boundary=2, anchors=at)
        return _trained(data, [1, 40, 40, 40, 3], C, 60_000)

    return Example("Lorenz", true, values, fit, train)


def diffusion() -> Example:
    """Return the example with the diffusivity of u_t = C u_xx + f on [-1, 1], data at ten points at t = 1."""
    positions = np.linspace(-1.0, 1.0, 10)
    values = (np.sin(np.pi * positions) * np.exp(-1.0))[None, :]
    x, t, C = sp.symbols("x t C")
    u = sp.Function("u")(x, t)
    exact = sp.sin(sp.pi * x) * sp.exp(-t)

    def fit(measured: Array) -> pibls.Fit:
        problem = pibls.Problem(
            pibls.Interval(x, -1, 1).during(t, 0, 1),
            [u.diff(t) - C * u.diff(x, 2) - exact * (sp.pi**2 - 1)],
            [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))],
            {C: 2.0},
        )
        return pibls.fit(problem, pibls.Data(u, {x: positions, t: 1.0}, measured[0]), {C: (0.01, 100)})

    def train(measured: Array) -> list[float]:
        import deepxde as dde
        import torch

        C_variable = dde.Variable(2.0)

        def equation(s: Any, v: Any) -> Any:
            rate, second = dde.grad.jacobian(v, s, i=0, j=1), dde.grad.hessian(v, s, i=0, j=0)
            wave = torch.sin(np.pi * s[:, 0:1]) * torch.exp(-s[:, 1:2])
            return rate - C_variable * second - (np.pi**2 - 1) * wave

        def solution(s: Array) -> Array:
            return np.asarray(np.sin(np.pi * s[:, 0:1]) * np.exp(-s[:, 1:2]))

        where = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1))
        at = np.column_stack([positions, np.ones(len(positions))])
        conditions = [
            dde.icbc.DirichletBC(where, solution, lambda _, there: there),
            dde.icbc.IC(where, solution, lambda _, first: first),
            dde.icbc.PointSetBC(at, measured.T, component=0),
        ]
        data = dde.data.TimePDE(
            where, equation, conditions, num_domain=40, num_boundary=20, num_initial=10, anchors=at
        )
        return _trained(data, [2, 32, 32, 32, 1], [C_variable], 50_000)

    return Example("diffusion", (1.0,), values, fit, train)


def _constant(value: float) -> Callable[[Array], float]:
    return lambda _: value


def _trained(data: Any, layers: list[int], variables: list[Any], steps: int) -> list[float]:
    import deepxde as dde

    model = dde.Model(data, dde.nn.FNN(layers, "tanh", "Glorot uniform"))
    model.compile("adam", lr=0.001, external_trainable_variables=variables, verbose=0)
    model.train(iterations=steps, display_every=steps, verbose=0)
    return [float(v.detach()) for v in variables]


def noisy_data(example: Example, noise: float) -> Array:
    """Return the data of the example with noise, the same for both methods."""
    spread = np.std(example.values, axis=1, keepdims=True)
    rng = np.random.default_rng(5)
    return np.asarray(example.values + noise * spread * rng.standard_normal(example.values.shape))


def run(stored: dict[str, Any]) -> None:
    """Compute the missing results; each is stored at once."""
    for noise in NOISE:
        for example in (lorenz(), diffusion()):
            values = noisy_data(example, noise)
            row = stored.setdefault(f"{example.name} {noise:g}", {"true": list(example.true)})
            if "pibls" not in row:
                example.fit(values)  # imports and caches of SymPy are not measured
                began = time.process_time()
                found = example.fit(values)
                row["seconds"] = time.process_time() - began
                row["pibls"] = list(found.values.values())
                row["interval"] = [list(found.interval(k)) for k in found.parameters]
                _write(stored)
            if "deepxde" not in row:
                _seed_and_threads()
                began = time.process_time()
                row["deepxde"] = example.train(values)
                row["deepxde_seconds"] = time.process_time() - began
                _write(stored)
            print(example.name, noise, row, flush=True)


def _seed_and_threads() -> None:
    import deepxde as dde
    import torch

    torch.set_num_threads(1)
    dde.config.set_random_seed(0)


def _write(stored: dict[str, Any]) -> None:
    STORED.write_text(json.dumps(stored, indent=1) + "\n")


def main(*words: str) -> None:
    os.environ.setdefault("DDE_BACKEND", "pytorch")
    run(json.loads(STORED.read_text()) if STORED.exists() and "--again" not in words else {})


if __name__ == "__main__":
    main(*sys.argv[1:])
