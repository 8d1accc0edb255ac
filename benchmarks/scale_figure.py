r"""Figure of the scale-width rule: rank(A) = 0.8 N at R = R(N, d).

Left: the numerical rank of N random Fourier features on [-1, 1]² against the scale R, without any equation.
Middle: the maximum error of five equations against R at one width; the minima lie near the R at which the
rank is 0.8 N. Right: the rule R(N, d) for one to five dimensions. Also measured and printed: the best scale
at other widths, and the error with different scales along x and y for a solution that is not isotropic.

    python benchmarks/scale_figure.py            # measure (about two minutes) and draw
    python benchmarks/scale_figure.py --draw     # draw the stored results
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, threads
from benchmarks.sensitivity import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, paper_style
from pibls.basis.scale import RANK_FRACTION, TABLE, WIDTHS, rank_fraction, scale_for

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/data/scale.json"
FIGURE = ROOT / "docs/figures/scale.png"
RANK_WIDTHS = (64, 128, 256, 512)
CASES = ("TC-4", "TC-5", "TC-7", "TC-8", "TC-11")
NODES = 256
SEEDS = range(3)
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE)
MARKERS = "osD^v"
FACTORS = (0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0, 2.8)


def ranks(widths: Sequence[int], scales: Sequence[float], seeds: Sequence[int]) -> dict[str, list[float]]:
    """Return the mean numerical rank / N of random features in two dimensions, a list per width."""
    return {
        str(n): [float(np.mean([rank_fraction("waves", n, 2, R, s) for s in seeds])) for R in scales]
        for n in widths
    }


def case_errors(name: str, nodes: int, scales: Sequence[float], seeds: Sequence[int]) -> list[list[float]]:
    """Return the relative maximum error of a case for each scale and seed, at one width, isotropic."""
    case, size = pibls.cases[name], max_abs_solution(name)
    return [
        [errors(case, _solve(case.problem, pibls.Waves(nodes, R), seed))[0] / size for seed in seeds]
        for R in scales
    ]


def max_abs_solution(name: str) -> float:
    """Return max|u| of a case."""
    case = pibls.cases[name]
    X = case.problem.domain.interior(4000, np.random.default_rng(0))
    return float(np.abs(case.exact(*X.T)).max())


def errors_by_width(
    names: Sequence[str], widths: Sequence[int], factors: Sequence[float], seeds: Sequence[int]
) -> dict[str, dict[str, list[float]]]:
    """Return median errors at multiples of the rule for several widths, from under-resolved to rounding."""
    return {
        str(n): {
            name: np.median(
                case_errors(name, n, [f * scale_for("waves", n, 2) for f in factors], seeds), axis=1
            ).tolist()
            for name in names
        }
        for n in widths
    }


def anisotropic_errors(nodes: int, factors: Sequence[float], seeds: Sequence[int]) -> dict[str, list[float]]:
    """Return errors for Poisson with u = sin 12πx sin πy and anisotropic scales (R f, R/f)."""
    x, y = sp.symbols("x y")
    u = sp.Function("u")(x, y)
    exact = sp.sin(12 * sp.pi * x) * sp.sin(sp.pi * y)
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), exact.diff(x, 2) + exact.diff(y, 2))],
        [pibls.Dirichlet(u, 0)],
    )
    X = np.random.default_rng(20251115).random((2, 4000))
    truth = sp.lambdify((x, y), exact, modules="numpy")(*X)
    R = scale_for("waves", nodes, 2)
    found = []
    for f in factors:
        runs = [_solve(problem, pibls.Waves(nodes, (R * f, R / f)), seed) for seed in seeds]
        found.append(float(np.median([np.abs(run(*X) - truth).max() for run in runs])))
    return {"nodes": [float(nodes)], "factors": list(factors), "errors": found}


def _solve(problem: pibls.Problem, basis: pibls.Waves, seed: int) -> pibls.Solution:
    """Solve with the linear solver of the automatic mode, without convergence warnings."""
    method = pibls.GaussNewton(rounds=0, linear=pibls.RidgeQR())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, basis=basis, method=method, seed=seed)


def measure(
    rank_widths: Sequence[int] = RANK_WIDTHS,
    names: Sequence[str] = CASES,
    nodes: int = NODES,
    steps: tuple[int, int] = (33, 21),
    seeds: Sequence[int] = SEEDS,
    other_widths: Sequence[int] = (128, 256, 512),
) -> dict[str, Any]:
    """Return all results that are drawn or printed."""
    rule = scale_for("waves", nodes, 2)
    wide = np.geomspace(0.1, 100.0, steps[0]).tolist()
    near = (rule * np.geomspace(1 / 8, 8, steps[1])).tolist()
    return {
        "ranks": {"scales": wide, "shares": ranks(rank_widths, wide, seeds)},
        "regimes": errors_by_width(names, other_widths, FACTORS, seeds),
        "leaning": anisotropic_errors(2 * nodes, (1.0, 2.0, 4.0), seeds),
        "errors": {
            "nodes": nodes,
            "rule": rule,
            "scales": near,
            "cases": {name: case_errors(name, nodes, near, seeds) for name in names},
        },
    }


def best(data: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Return, by case, the best R, its error, and the error at the rule."""
    found = data["errors"]
    R = np.array(found["scales"])
    out = {}
    for name, runs in found["cases"].items():
        e = np.median(np.array(runs), axis=1)
        i = int(np.argmin(e))
        at_rule = e[int(np.argmin(np.abs(np.log(R / found["rule"]))))]
        out[name] = (float(R[i]), float(e[i]), float(at_rule))
    return out


def draw(data: Mapping[str, Any], path: Path) -> None:
    plt = paper_style()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12.4, 4.1), layout="constrained")
    _draw_ranks(left, data["ranks"])
    _draw_errors(middle, data["errors"])
    _draw_rule(right)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def _draw_ranks(ax: Any, found: Mapping[str, Any]) -> None:
    import matplotlib as mpl

    shades = mpl.colormaps["viridis"](np.linspace(0.8, 0.05, len(found["shares"])))
    ax.axhline(RANK_FRACTION, color=GREY, linestyle=":", linewidth=1.2)
    ax.text(110, RANK_FRACTION - 0.012, "rank = 0.8 $N$", color=GREY, fontsize=8.5, va="top", ha="right")
    for (n, shares), colour in zip(found["shares"].items(), shades):
        ax.plot(found["scales"], shares, color=colour, label=f"$N$ = {n}")
        R = scale_for("waves", int(n), 2)
        ax.plot(R, RANK_FRACTION, "o", color=colour, markeredgecolor="white", markersize=8, zorder=5)
    ax.set(xscale="log", xlabel="scale $R$", ylabel="numerical rank / $N$", ylim=(0, 1.05))
    ax.set_title("(a)  waves in the plane, no equation", loc="left")
    ax.legend(loc="lower right")


def _draw_errors(ax: Any, found: Mapping[str, Any]) -> None:
    R, rule = np.array(found["scales"]), found["rule"]
    for (name, runs), colour, marker in zip(found["cases"].items(), COLOURS, MARKERS):
        e = np.array(runs)
        ax.fill_between(R, e.min(axis=1), e.max(axis=1), color=colour, alpha=0.15, linewidth=0)
        label = f"{name}, {pibls.cases[name].title.split(',')[0].lower().replace('burgers', 'Burgers')}"
        label = label.replace("poisson", "Poisson")
        ax.plot(R, np.median(e, axis=1), color=colour, marker=marker, markersize=3.5, label=label)
    ax.set(xscale="log", yscale="log", xlabel="scale $R$", ylabel=r"maximum error / max $|u|$")
    low, high = ax.get_ylim()
    ax.plot([rule, rule], [low, high], color=GREY, linestyle="--", linewidth=1.3, zorder=1)
    ax.set_ylim(low, high * 3e4)
    ax.annotate(
        f"rule: $R$ = {rule:.3g}", (rule, low), (4, 3), textcoords="offset points", color=GREY, fontsize=8.5
    )
    _plain_ticks(ax)
    ax.set_title(f"(b)  five equations, $N$ = {found['nodes']}", loc="left")
    ax.legend(loc="upper center", ncols=2, columnspacing=1.0, handlelength=1.6, fontsize=8)


def _draw_rule(ax: Any) -> None:
    widths = np.array(WIDTHS, dtype=float)
    fine = np.geomspace(widths[0], 4096, 200)
    for d, colour, marker in zip(range(1, 6), COLOURS, MARKERS):
        radii = np.array(TABLE["waves", d])
        measured = radii > 0.0102  # the bisection of the table ends at R = 0.01
        start = widths[measured][0]
        line = fine[fine >= start]
        ax.plot(line, [scale_for("waves", round(n), d) for n in line], color=colour)
        ax.plot(widths[measured], radii[measured], marker, color=colour, markersize=5)
        end = scale_for("waves", 4096, d)
        ax.annotate(f"$d$ = {d}", (4096, end), (4, 0), textcoords="offset points", color=colour,
                    va="center", fontsize=9)  # fmt: skip
    ax.axvline(1024, color=GREY, linewidth=0.8, linestyle=":")
    ax.text(1100, 0.011, "extrapolated", color=GREY, fontsize=8)
    ax.set(xscale="log", yscale="log", xlabel="width $N$ (nodes)", ylabel="scale $R(N, d)$", xlim=(28, 8000))
    ax.set_xticks([32, 128, 512, 2048])
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.minorticks_off()
    ax.set_title("(c)  the rule for waves", loc="left")


def _plain_ticks(ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def main(arguments: Sequence[str]) -> None:
    if "--draw" not in arguments:
        DATA.parent.mkdir(parents=True, exist_ok=True)
        DATA.write_text(json.dumps(measure(), indent=1))
    data = json.loads(DATA.read_text())
    print(f"N = {data['errors']['nodes']}, rule R = {data['errors']['rule']:.3g}")
    for name, (R, least, at_rule) in best(data).items():
        print(f"{name:6} best R {R:.3g} with {least:.1e}; at the rule {at_rule:.1e}")
    for n, found in data["regimes"].items():
        for name, e in found.items():
            steps = ", ".join(f"{f:g}R: {v:.0e}" for f, v in zip(FACTORS, e))
            print(f"N = {n:4} {name:6} {steps}")
    print(f"leaning: {data['leaning']}")
    draw(data, FIGURE)
    print(f"drawn in {FIGURE.relative_to(ROOT)}")


if __name__ == "__main__":
    with threads(1):
        main(sys.argv[1:])
