r"""Convergence of the bases in H¹ and H² against their width N.

‖u - u_N‖_{H^k}² = mean over Ω of Σ_{|α|≤k} |∂^α(u - u_N)|², k = 1, 2. The paper proves that the broad basis
approximates any u of H^k arbitrarily well; here the rates are measured. The problems are three with smooth
solutions and one whose solution |x - 1/3|^{7/2} cos y lies in H^s only for s < 4. The bases are the broad
tanh basis at a fixed scale (three quarters feature, one quarter enhancement nodes), random Fourier features
at the scale of `scale_for` and, for the nonsmooth solution, the broad basis at a scale proportional to
N^{1/2}. Derivatives are exact, errors are relative to ‖u‖_{H^k} and measured on points that were not fitted;
medians of three seeds.

    python benchmarks/convergence.py            # measure (about 3 minutes) and draw
    python benchmarks/convergence.py --draw     # draw the stored results
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import threads
from benchmarks.sensitivity import BLUE, GREEN, GREY, RED, paper_style
from pibls.arrays import Array
from pibls.basis import BasisSpec
from pibls.basis.scale import scale_for

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/data/convergence.json"
FIGURE = ROOT / "docs/figures/convergence.png"
SEEDS = range(3)
_POINTS = 2000
_ROUNDING_LEVEL = 1e-11  # relative error above which the decay of a smooth solution is fitted
x, y = sp.symbols("x y")


@dataclass(frozen=True)
class Study:
    """A problem with its exact solution in SymPy, and the bases and widths to measure."""

    title: str
    problem: pibls.Problem
    exact: Any
    scale: float
    """Scale R of the broad basis, the same at every width."""
    widths: tuple[int, ...]
    smoothness: float = math.inf
    """The solution lies in H^s for all s below this."""
    families: tuple[str, ...] = ("broad", "waves")


def studies() -> dict[str, Study]:
    """Return three cases of the paper and Poisson's equation with a solution of limited smoothness."""
    plane = (32, 64, 128, 256, 512, 1024)
    return {
        "TC-3": _of_case("TC-3", tc3, (8, 12, 16, 24, 32, 48, 64, 96, 128, 256)),
        "TC-5": _of_case("TC-5", tc5, plane),
        "TC-11": _of_case("TC-11", tc11, plane),
        "rough": rough((*plane, 2048)),
    }


def tc3(x: Any) -> Any:
    return (sp.exp(5 * x) - 1) / (sp.exp(5) - 1)


def tc5(x: Any, y: Any) -> Any:
    return sp.Rational(1, 2) + sp.exp(-2 * x**2 - 4 * y**2)


def tc11(x: Any, t: Any) -> Any:
    def wave(s: Any) -> Any:
        angle = sp.pi / 5
        return 2 * sp.cos(sp.pi * s + 2 * angle) + sp.Rational(3, 2) * sp.cos(2 * sp.pi * s - 3 * angle)

    return (1 + x / 10) * (1 + t / 10) * wave(x) * wave(t)


def _of_case(name: str, exact: Any, widths: tuple[int, ...]) -> Study:
    case = pibls.cases[name]
    scale = case.published.settings["basis"].scale
    problem = case.problem
    return Study(f"{name}: {case.title}", problem, exact(*problem.coordinates), scale, widths)


def rough(widths: tuple[int, ...]) -> Study:
    """Return the study of Δu = f on the unit square with u = |x - 1/3|^{7/2} cos y."""
    u = sp.Function("u")(x, y)
    # (s²)^{7/4} is |s|^{7/2} without the sign functions that SymPy would differentiate, were x real.
    exact = ((x - sp.Rational(1, 3)) ** 2) ** sp.Rational(7, 4) * sp.cos(y)
    source = exact.diff(x, 2) + exact.diff(y, 2)
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), source)],
        [pibls.Dirichlet(u, exact)],
    )
    title = "Poisson, 2D, $u = |x - 1/3|^{7/2}\\,\\cos y$"
    return Study(title, problem, exact, 4.0, widths, 4.0, ("broad", "growing", "waves"))


def broad(study: Study, nodes: int) -> pibls.Broad:
    """Three groups of N/4 feature nodes, one of N/4 enhancement nodes, whitened."""
    return pibls.Broad(3, nodes // 4, 1, nodes // 4, scale=study.scale, whiten=True)


def growing(study: Study, nodes: int) -> pibls.Broad:
    """The broad basis with R ∝ N^{1/d}, which is ``study.scale`` at N = 256."""
    factor = (nodes / 256) ** (1.0 / len(study.problem.coordinates))
    return replace(broad(study, nodes), scale=factor * study.scale)


def random_features(study: Study, nodes: int) -> pibls.Waves:
    return pibls.Waves(nodes, scale_for("waves", nodes, len(study.problem.coordinates)))


FAMILIES: dict[str, Callable[[Study, int], BasisSpec]] = {
    "broad": broad,
    "growing": growing,
    "waves": random_features,
}


def points(study: Study, nodes: int) -> pibls.Points | None:
    """Return the points: 6 N inside in two dimensions, so that the error depends on N and not on the points.

    With the 2.5 N of the automatic solver the residual of the nonsmooth solution is larger near the boundary:
    its error in H² is two to four times larger.
    """
    if len(study.problem.coordinates) == 1:
        return None
    edge = int(4.0 * math.sqrt(2.0 * nodes))
    return pibls.Points(6 * nodes, 4 * edge, edge, rule="sobol", boundary_rule="chebyshev")


def sobolev_errors(study: Study, solution: pibls.Solution, samples: int = _POINTS) -> tuple[float, float]:
    """Return the relative errors in H¹ and H² on random points of the domain that were not fitted."""
    coordinates = study.problem.coordinates
    unknown = study.problem.unknowns[0]
    X = study.problem.domain.interior(samples, np.random.default_rng(20251115)).T
    error, size = np.zeros(3), np.zeros(3)
    for alpha in product(range(3), repeat=len(coordinates)):
        order = sum(alpha)
        if order > 2:
            continue
        steps = [c for c, a in zip(coordinates, alpha, strict=True) for _ in range(a)]
        exact = _evaluate(study.exact.diff(*steps) if steps else study.exact, coordinates, X)
        found = solution.evaluate(unknown.diff(*steps) if steps else unknown, *X)
        error[order:] += np.mean((found - exact) ** 2)
        size[order:] += np.mean(exact**2)
    relative = np.sqrt(error / size)
    return float(relative[1]), float(relative[2])


def _evaluate(expression: Any, coordinates: Sequence[Any], X: Array) -> Array:
    values = sp.lambdify(coordinates, expression, modules="numpy")(*X)
    return np.broadcast_to(np.asarray(values, dtype=float), X[0].shape)


def measure(study: Study, widths: Sequence[int], seeds: Sequence[int]) -> dict[str, Any]:
    """Return the errors (H¹, H²) by family, width and seed."""
    method = pibls.GaussNewton(rounds=0, linear=pibls.RidgeQR())
    found: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in study.families}
    for name in study.families:
        for nodes in widths:
            runs = []
            for seed in seeds:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", pibls.ConvergenceWarning)
                    solution = pibls.solve(
                        study.problem,
                        basis=FAMILIES[name](study, nodes),
                        points=points(study, nodes),
                        method=method,
                        seed=seed,
                    )
                runs.append(sobolev_errors(study, solution))
            found[name].append(runs)
    return {"title": study.title, "widths": list(widths), "errors": found}


def fitted_rate(widths: Any, errors: Any, least: float = 512) -> float:
    """Return r of e ~ N^{-r}, fitted for N ≥ ``least`` if that leaves at least two widths."""
    N, e = np.asarray(widths, dtype=float), np.asarray(errors)
    keep = least <= N if np.sum(least <= N) > 1 else N > 0
    return float(-np.polyfit(np.log(N[keep]), np.log(e[keep]), 1)[0])


def fitted_decay(widths: Any, errors: Any, dimension: int) -> float:
    """Return c of e ~ 10^{-c N^{1/d}}, fitted where e is above the rounding level."""
    N, e = np.asarray(widths, dtype=float), np.asarray(errors)
    keep = e > _ROUNDING_LEVEL
    keep[: min(3, len(keep))] = True
    return float(-np.polyfit(N[keep] ** (1.0 / dimension), np.log10(e[keep]), 1)[0])


def summary(data: Mapping[str, Any]) -> list[str]:
    """Return one line per problem, family and norm."""
    lines = []
    for name, study in studies().items():
        found = data[name]
        for family, runs in found["errors"].items():
            values = np.median(np.array(runs), axis=1)
            for k in (1, 2):
                e = values[:, k - 1]
                if math.isfinite(study.smoothness):
                    d = len(study.problem.coordinates)
                    fit = (
                        f"rate N^-{fitted_rate(found['widths'], e):.2f} "
                        f"(isotropic: {(study.smoothness - k) / d:.2f})"
                    )
                else:
                    d = len(study.problem.coordinates)
                    fit = f"{fitted_decay(found['widths'], e, d):.2f} digits per N^(1/{d})"
                lines.append(f"{name:6} {family:6} H{k}: best {e.min():.1e}, {fit}")
    return lines


def draw(data: Mapping[str, Any], path: Path) -> None:
    """Draw one panel per problem: H¹ solid, H² dashed, one colour per family."""
    plt = paper_style()
    figure, axes = plt.subplots(2, 2, figsize=(9.2, 6.8), layout="constrained")
    looks = {
        "broad": (BLUE, "o", "broad, $R$ fixed"),
        "growing": (GREEN, "^", r"broad, $R \propto N^{1/2}$"),
        "waves": (RED, "s", "waves, $R(N, d)$"),
    }
    table = studies()
    for ax, (name, found), letter in zip(axes.flat, data.items(), "abcd"):
        study = table[name]
        N = np.array(found["widths"], dtype=float)
        for family, runs in found["errors"].items():
            colour, marker, label = looks[family]
            values = np.array(runs)
            for k, line in ((1, "-"), (2, "--")):
                e = values[:, :, k - 1]
                ax.fill_between(N, e.min(axis=1), e.max(axis=1), color=colour, alpha=0.15, linewidth=0)
                ax.plot(
                    N, np.median(e, axis=1), line, color=colour, marker=marker,
                    markerfacecolor=colour if k == 1 else "white", label=f"{label}: $H^{k}$",
                )  # fmt: skip
        if math.isfinite(study.smoothness):
            _draw_rates(ax, study, N, found["errors"])
        ax.set(xscale="log", yscale="log", xlabel="width $N$ (nodes)")
        ax.set_xticks(N if len(N) < 9 else N[[0, 2, 4, 6, 8, 9]])
        ax.xaxis.set_major_formatter("{x:.0f}")
        ax.xaxis.set_minor_locator(plt.NullLocator())
        ax.set_title(f"({letter})  {found['title']}; broad $R$ = {study.scale:g}", loc="left")
    for ax in axes[:, 0]:
        ax.set_ylabel(r"relative error $\|u-u_N\|_{H^k}\,/\,\|u\|_{H^k}$")
    handles, labels = axes.flat[len(data) - 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def _draw_rates(ax: Any, study: Study, N: Array, errors: Mapping[str, Any]) -> None:
    """Draw the isotropic rates N^{-(s-k)/d}: H¹ below the curves, H² above."""
    d = len(study.problem.coordinates)
    values = np.array([np.median(np.array(runs), axis=1)[-3:] for runs in errors.values()])
    for k, edge, side in ((1, 0.4 * values[:, 0, 0].min(), -1), (2, 4.5 * values[:, 0, 1].max(), 1)):
        rate = (study.smoothness - k) / d
        M = N[-3:]
        line = edge * (M / M[0]) ** -rate
        ax.plot(M, line, color=GREY, linewidth=1.1)
        ax.annotate(
            f"$N^{{-{rate:g}}}$", (M[1], line[1]), (4 * side, 4 * side), textcoords="offset points",
            ha="left" if side > 0 else "right", va="bottom" if side > 0 else "top", color=GREY, fontsize=9,
        )  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    if "--draw" not in arguments:
        data = {}
        for name, study in studies().items():
            data[name] = measure(study, study.widths, SEEDS)
            print(f"{name} done", file=sys.stderr, flush=True)
        DATA.parent.mkdir(parents=True, exist_ok=True)
        DATA.write_text(json.dumps(data, indent=1))
    data = json.loads(DATA.read_text())
    print("\n".join(summary(data)))
    draw(data, FIGURE)
    print(f"drawn in {FIGURE.relative_to(ROOT)}")


if __name__ == "__main__":
    with threads(1):
        main(sys.argv[1:])
