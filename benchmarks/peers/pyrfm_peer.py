r"""pyRFM: u = Σ_n ψ_n(x) Σ_j c_nj tanh(w_nj·(x - x_n)/r_n + b_nj), with a partition of unity ψ_n.

Also `Equation` and `points_on`, which translate a case for peers that assemble rows; used by `pypielm_peer`
too.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

import pibls
from benchmarks.peers.adapter import SEEDS, Outcome, Setting, Task, absent
from pibls.arrays import Array, MultiIndex
from pibls.cases.case import Case
from pibls.geometry import box_of, time_of
from pibls.problem import Problem
from pibls.problem.forms.form import Form
from pibls.problem.regions.selection import Interior, PeriodicFaces, Region, Slice

_LINE = [(1, 50, 200), (2, 50, 200), (4, 50, 400), (8, 50, 800)]
_PLANE: list[tuple[Any, int, int]] = [(1, 100, 24), (1, 200, 30), (1, 400, 40), (1, 800, 50)]

# Subdomains, features per subdomain, points per coordinate, increasing; 2 × 2 subdomains where that is best.
_SIZES: dict[str, list[tuple[Any, int, int]]] = {
    "TC-1": _LINE,
    "TC-2": _LINE,
    "TC-3": _LINE,
    "TC-4": [*_PLANE, (2, 400, 55)],
    "TC-5": _PLANE,
    "TC-6": [*_PLANE[:3], (1, 500, 42)],
    "TC-7": [*_PLANE[:3], ((2, 1), 400, 45)],
    "TC-8": [*_PLANE, (2, 400, 55)],
    "TC-9": [(20, 25, 800), (32, 25, 1300), (50, 25, 2500)],
    "TC-10": [(1, 20, 100), (1, 30, 100), (1, 50, 200), (4, 50, 400)],
    "TC-11": [(1, 100, 20), (1, 200, 26), (1, 400, 32)],
}

# The Newton method of pyRFM uses QR without pivoting and stalls on TC-11, where the features are nearly
# linearly dependent; its trust-region method uses the SVD, which is too slow for the 1250 unknowns of TC-9.
_NONLINEAR: dict[str, dict[str, Any]] = {
    "TC-9": {"method": "newton", "ftol": 1e-8, "xtol": 1e-15, "gtol": 1e-15, "maxfev": 600},
    "TC-10": {"method": "trf", "ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-15},
    "TC-11": {"method": "trf", "ftol": 1e-12, "xtol": 1e-12, "gtol": 1e-15},
}


class PyRFM:
    """The random feature method of Chen, Chi, E and Yang, by the package pyrfm in torch."""

    name = "pyrfm"
    title = "pyRFM"
    packages = ("pyrfm", "torch")
    install = "pip install pyrfm"
    fairness = (
        "Its defaults where they are best: tanh features, weights uniform in (-1, 1) on each subdomain, rows "
        "scaled to norm one, Householder QR. Tried besides: sine and cosine features, its SVD, Chebyshev "
        "points, other scalings of the rows: worse or no better. Subdomains, features, points and partition "
        "of unity (PsiBW for several subdomains in 2D) were chosen per case by the true error, in its "
        "favour. Nonlinear cases by its own nonlinear_least_square from zero, with the better of its methods "
        "and the rows scaled as its linear solver does."
    )

    def missing(self) -> str | None:
        return absent(self.packages)

    def settings(self, case: Case) -> list[Setting]:
        d = len(case.problem.coordinates)
        return [
            Setting(
                f"{_subdomain_label(parts, d)} × {features} features",
                {
                    "subdomains": parts,
                    "features": features,
                    "points": points,
                    "partition": "PsiBW" if d > 1 and parts != 1 else "PsiB",
                    **_NONLINEAR.get(case.name, {}),
                },
                table=(parts, features, points) == _SIZES[case.name][-1],
                seeds=SEEDS,
            )
            for parts, features, points in _SIZES[case.name]
        ]

    def run(self, task: Task) -> Outcome:
        import torch

        torch.set_num_threads(task.threads)
        # Loading the linear algebra of torch is not part of the solve.
        warm = {"subdomains": 2, "features": 10, "points": 40, "partition": "PsiB"}
        _solve(pibls.cases["TC-2"].problem, warm, 0)
        model, seconds, facts = _solve(task.case.problem, task.setting.values, task.seed)
        return Outcome(model(_tensor(task.points)).numpy()[:, 0], seconds, facts=facts)


def _subdomain_label(parts: Any, d: int) -> str:
    each = (parts,) * d if isinstance(parts, int) else parts
    return "1" if set(each) == {1} else "·".join(map(str, each))


def _solve(problem: Problem, values: Any, seed: int) -> tuple[Any, float, dict[str, Any]]:
    """Return the solved model, the seconds, and facts about the solve."""
    import pyrfm
    import torch

    statements = [(Equation.of(s.form), s.region) for s in problem.statements]
    box = box_of(problem.domain)
    parts = values["subdomains"]
    began = time.perf_counter()
    model = pyrfm.RFMBase(
        dim=len(box),
        domain=[float(end) for end in box.ravel()],
        n_subdomains=parts if isinstance(parts, int) else list(parts),
        n_hidden=values["features"],
        pou=getattr(pyrfm, values["partition"]),
        seed=seed,
        dtype=torch.float64,
    )
    blocks = [
        Block.of(equation, points_on(problem, region, values["points"]), lambda X, a: _features(model, X, a))
        for equation, region in statements
    ]
    facts: dict[str, Any] = {}
    # pyRFM prints its residuals.
    with contextlib.redirect_stdout(io.StringIO()):
        if problem.is_linear:
            no_derivatives: list[Array] = []
            model.compute(torch.cat([b.A for b in blocks]))
            model.solve(
                torch.cat([-_tensor(b.equation.rest(*b.x, *no_derivatives))[:, None] for b in blocks])
            )
        else:
            facts = _solve_nonlinear(model, blocks, values)
    seconds = time.perf_counter() - began
    facts["unknowns"], facts["rows"] = int(model.W.numel()), sum(len(b.A) for b in blocks)
    return model, seconds, facts


def _features(model: Any, X: Array, alpha: MultiIndex) -> Any:
    axes = [axis for axis, order in enumerate(alpha) for _ in range(order)]
    x = _tensor(X)
    found = (model.features, model.features_derivative, model.features_second_derivative)[len(axes)](x, *axes)
    return found.cat(dim=1)


def _solve_nonlinear(model: Any, blocks: Sequence[Block], values: Any) -> dict[str, Any]:
    import pyrfm
    import torch

    scales = [1 / torch.linalg.norm(b.A, dim=1, keepdim=True) for b in blocks]
    options = {k: values[k] for k in ("method", "ftol", "xtol", "gtol", "maxfev") if k in values}
    model.W, status = pyrfm.nonlinear_least_square(
        lambda c: torch.cat([s * b.residual(c) for s, b in zip(scales, blocks, strict=True)]),
        torch.zeros((blocks[0].A.shape[1], 1), dtype=torch.float64),
        lambda c: torch.cat([s * b.jacobian(c) for s, b in zip(scales, blocks, strict=True)]),
        **options,
    )
    return {"status": int(status)}


@dataclass(frozen=True)
class Equation:
    """r = Σ aⱼ(x) Jⱼ + ρ(x, J) with compiled functions, which a user of a peer would write by hand.

    ``linear`` has (α, site, aⱼ), ``nonlinear`` the α of the derivatives in ρ with ∂ρ/∂J; ``rest`` is ρ.
    """

    linear: tuple[tuple[MultiIndex, int, Callable[..., Array]], ...]
    nonlinear: tuple[tuple[MultiIndex, Callable[..., Array]], ...]
    rest: Callable[..., Array]

    @classmethod
    def of(cls, form: Form) -> Equation:
        x = form.variables.coordinates
        symbols = [s for _, s in form.nonlinear]
        return cls(
            tuple((derivative.alpha, derivative.site, _function(x, a)) for derivative, a in form.linear),
            tuple(
                (derivative.alpha, _function((*x, *symbols), form.rest.diff(s)))
                for derivative, s in form.nonlinear
            ),
            _function((*x, *symbols), form.rest),
        )


def _function(arguments: Any, expression: Any) -> Callable[..., Array]:
    function = sp.lambdify(arguments, expression, modules="numpy", cse=True)
    return lambda *x: np.asarray(function(*x) + np.zeros_like(x[0]))


@dataclass(frozen=True)
class Block:
    """The rows of one statement, A c + ρ(x, B c) = 0: A (N, M), one B (N, M) per derivative in ρ."""

    equation: Equation
    x: Array
    A: Any
    nonlinear: tuple[Any, ...]

    @classmethod
    def of(
        cls, equation: Equation, sites: list[Array], features: Callable[[Array, MultiIndex], Any]
    ) -> Block:
        x = sites[0].T
        A: Any = 0
        for alpha, site, a in equation.linear:
            A = A + _tensor(a(*x))[:, None] * features(sites[site], alpha)
        return cls(equation, x, A, tuple(features(sites[0], alpha) for alpha, _ in equation.nonlinear))

    def residual(self, c: Any) -> Any:
        return self.A @ c + _tensor(self.equation.rest(*self.x, *self._derivatives(c)))[:, None]

    def jacobian(self, c: Any) -> Any:
        derivatives = self._derivatives(c)
        out = self.A
        for B, (_, partial) in zip(self.nonlinear, self.equation.nonlinear, strict=True):
            out = out + _tensor(partial(*self.x, *derivatives))[:, None] * B
        return out

    def _derivatives(self, c: Any) -> list[Array]:
        return [(B @ c).numpy()[:, 0] for B in self.nonlinear]


def _tensor(values: Array) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(values))


def points_on(problem: Problem, region: Region, n: int) -> list[Array]:
    """Return uniform grids of n points per coordinate on a region, one for each site of a row."""
    box = box_of(problem.domain)
    axes = [np.linspace(a, b, n) for a, b in box]
    if isinstance(region, Interior):
        return [_grid(axes)]
    if isinstance(region, Slice):
        return [_grid(_with_fixed_axis(axes, region.axis, region.level))]
    if isinstance(region, PeriodicFaces):
        # A periodic row compares site 1 with site 0.
        return [_grid(_with_fixed_axis(axes, region.axis, level)) for level in (region.low, region.high)]
    faces = [
        _grid(_with_fixed_axis(axes, axis, level))
        for axis, ends in enumerate(box)
        if problem.coordinates[axis] != time_of(problem.domain)
        for level in ends
    ]
    return [np.concatenate(faces)]


def _with_fixed_axis(axes: list[Array], axis: int, level: float) -> list[Array]:
    return [np.array([level]) if i == axis else a for i, a in enumerate(axes)]


def _grid(axes: list[Array]) -> Array:
    return np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
