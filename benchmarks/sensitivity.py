"""Sensitivity of the published method: error and time against nodes, points and scale, one at a time.

The parameter sensitivity analysis of the paper, for TC-1 (linear, Algorithm 1) and TC-9 (nonlinear, Algorithm
2): around the published settings one of three parameters is varied, three seeds each. The figure also shows
the result of ``pibls.solve(problem, tol=1e-13)`` and, for TC-9, the same settings with Gauss-Newton.

    python benchmarks/sensitivity.py            # missing results (Algorithm 2: an hour), then draw
    python benchmarks/sensitivity.py --draw     # draw the stored results
    python benchmarks/sensitivity.py --again    # measure everything again

Each run is stored in docs/data/sensitivity.json when it ends, so that the command can be interrupted and
resumed. benchmarks.pages generates the page from it.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, threads
from pibls.cases.case import Case

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/data/sensitivity.json"
FIGURE = ROOT / "docs/figures/sensitivity.png"
SEEDS = range(3)
TOL = 1e-13

# Nodes are varied by the number of groups, points with a fixed fraction of boundary points.
VALUES: dict[str, dict[str, tuple[float, ...]]] = {
    "TC-1": {
        "nodes": (62, 124, 186, 310, 496, 744, 1240, 1860),
        "points": (32, 64, 102, 152, 252, 452, 902, 1802),
        "scale": (0.5, 1, 2, 3, 5, 8, 15.1, 30, 60, 120),
    },
    "TC-9": {
        "nodes": (70, 140, 280, 420, 700, 980, 1400, 1820),
        "points": (200, 400, 700, 1000, 1400, 2000, 4000, 5000),
        "scale": (0.5, 1, 2, 3, 4, 6, 10, 20, 50, 120),
    },
}
LABELS = {"nodes": "hidden nodes", "points": "training points", "scale": "range $R$ of the random weights"}
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#555555"

Run = dict[str, float]


def paper_style() -> Any:
    """Return matplotlib.pyplot without display, with the fonts and lines of the figures."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from pibls.plot import style

    plt.rcParams.update({**style, "font.size": 9.5, "savefig.dpi": 200, "mathtext.fontset": "stixsans"})
    return plt


def settings_with(case: Case, parameter: str, value: float, *, gauss_newton: bool = False) -> dict[str, Any]:
    """Return the published settings with one parameter changed, optionally with Gauss-Newton."""
    settings = dict(case.published.settings)
    basis, points = settings["basis"], settings["points"]
    if parameter == "nodes":
        share = value / basis.size
        groups = [max(round(share * g), 1) for g in (basis.feature_groups, basis.enhancement_groups)]
        settings["basis"] = replace(basis, feature_groups=groups[0], enhancement_groups=groups[1])
    elif parameter == "points":
        boundary = 2 if points.boundary == 2 else round(value * points.boundary / count(points))
        settings["points"] = replace(points, interior=round(value) - boundary, boundary=boundary)
    else:
        settings["basis"] = replace(basis, scale=float(value))
    if gauss_newton:
        settings["method"] = pibls.GaussNewton(continuation=0, rounds=0, linear=pibls.RidgeQR())
    return settings


def count(points: pibls.Points) -> int:
    """Return the total number of points."""
    return points.interior + points.boundary + points.initial


def run(case: Case, seed: int, **settings: Any) -> Run:
    """Solve once; return the settings used, errors on points that were not fitted, and CPU seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        # CPU time: with one thread the wall time on an idle machine.
        start = time.process_time()
        solution = pibls.solve(case.problem, seed=seed, **settings)
        seconds = time.process_time() - start
    largest, mean = errors(case, solution)
    scale = solution.settings["basis"].scale
    return {
        "nodes": solution.nodes,
        "points": count(solution.settings["points"]),
        "scale": float(scale[0] if isinstance(scale, tuple) else scale),
        "max": largest,
        "l2": mean,
        "seconds": seconds,
    }


def median(runs: Sequence[Run]) -> Run:
    return {key: float(np.median([r[key] for r in runs])) for key in runs[0]}


def study(
    case: Case,
    values: Mapping[str, Sequence[float]],
    seeds: Sequence[int],
    found: dict[str, Any] | None = None,
    keep: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Run all sweeps of one case by the published method and, if it is nonlinear, by Gauss-Newton.

    ``found`` has the earlier results and is extended; ``keep`` is called after each run. Sweeps are
    dictionaries: parameter → value → list of runs, one per seed.
    """
    found = {} if found is None else found
    pibls.solve(case.problem, tol=TOL)  # imports are not measured
    found["title"] = case.title
    found["published"] = {
        "nodes": case.published.settings["basis"].size,
        "points": count(case.published.settings["points"]),
        "scale": case.published.settings["basis"].scale,
        "max": case.published.max_error,
        "l2": case.published.l2_error,
        "seconds": case.published.seconds,
    }
    if "automatic" not in found:
        found["automatic"] = [run(case, seed, tol=TOL) for seed in seeds]
        keep()
    # Seed by seed, values near the published ones first: an interrupted study then has complete curves.
    # Far values, where Algorithm 2 tries all perturbations without success, take longest.
    order = sorted(
        ((p, v) for p, steps in values.items() for v in steps),
        key=lambda pair: abs(math.log(pair[1] / found["published"][pair[0]])),
    )
    for sweeps, gauss_newton in (("gauss-newton", True), ("sweeps", False)):
        if gauss_newton and case.problem.is_linear:
            continue
        done = found.setdefault(sweeps, {})
        for index, seed in enumerate(seeds):
            for parameter, value in order:
                runs = done.setdefault(parameter, {}).setdefault(f"{value:g}", [])
                if len(runs) <= index:
                    settings = settings_with(case, parameter, value, gauss_newton=gauss_newton)
                    runs.append(run(case, seed, **settings))
                    keep()
    return found


def draw(data: Mapping[str, Any], path: Path) -> None:
    """Draw errors and times in two rows per case, one column per parameter."""
    plt = paper_style()
    figure, axes = plt.subplots(
        2 * len(data), 3, figsize=(11, 3.9 * len(data)), sharex="col", sharey="row",
        height_ratios=[2.6, 1.0] * len(data), layout="constrained", squeeze=False,
    )  # fmt: skip
    for i, (name, found) in enumerate(data.items()):
        for j, parameter in enumerate(LABELS):
            upper, lower = axes[2 * i, j], axes[2 * i + 1, j]
            _curves(upper, found, parameter, {"max": (BLUE, "o"), "l2": (ORANGE, "s")})
            _curves(lower, found, parameter, {"seconds": (GREEN, "^")})
            _reference(upper, lower, found, parameter)
            for ax in (upper, lower):
                ax.set(xscale="log", yscale="log")
                ax.tick_params(labelbottom=True)
            _plain_ticks(upper, lower)
            method = "Algorithm 2" if "gauss-newton" in found else "Algorithm 1"
            upper.set_title(
                f"({'abcdef'[3 * i + j]})  {name}, {method}: {LABELS[parameter].partition(' of')[0]}",
                loc="left",
            )
            lower.set_xlabel(LABELS[parameter])
        axes[2 * i, 0].set_ylabel("absolute error")
        axes[2 * i + 1, 0].set_ylabel("CPU time (s)")
        for ax, below, above in ((axes[2 * i, 0], 2e4, 1.0), (axes[2 * i + 1, 0], 3.0, 3.0)):
            low, high = ax.get_ylim()
            ax.set_ylim(low / below, high * above)
    handles = {label: h for ax in axes.flat for h, label in zip(*ax.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


NAMES = {"max": "maximum error", "l2": "$L_2$ error", "seconds": "time"}


def _curves(ax: Any, found: Mapping[str, Any], parameter: str, keys: Mapping[str, tuple[str, str]]) -> None:
    x, runs = curve(found, parameter)
    for key, (colour, marker) in keys.items():
        values = [[r[key] for r in step] for step in runs]
        ax.fill_between(
            x, [min(v) for v in values], [max(v) for v in values], color=colour, alpha=0.2, linewidth=0
        )
        label = f"{NAMES[key]}, published method"
        ax.plot(x, [np.median(v) for v in values], color=colour, marker=marker, label=label)
    if "gauss-newton" in found:
        x, runs = curve(found, parameter, "gauss-newton")
        key = next(iter(keys))
        ax.plot(
            x, [median(step)[key] for step in runs], color=PURPLE, linestyle="--", linewidth=1.2,
            label="Gauss-Newton instead",
        )  # fmt: skip


def curve(
    found: Mapping[str, Any], parameter: str, sweeps: str = "sweeps"
) -> tuple[list[float], list[list[Run]]]:
    """Return the values of a parameter in increasing order, and their runs."""
    steps = sorted(found[sweeps].get(parameter, {}).items(), key=lambda item: float(item[0]))
    return [float(value) for value, _ in steps], [runs for _, runs in steps]


def _reference(upper: Any, lower: Any, found: Mapping[str, Any], parameter: str) -> None:
    """Draw the published setting, the result of the paper, and the automatic choice."""
    paper, auto = found["published"], median(found["automatic"])
    for ax, low in ((upper, 0.3), (lower, 0.0)):
        ax.axvline(paper[parameter], low, color=GREY, linestyle=":", linewidth=1.1, label="published setting")
    hollow = {"linestyle": "none", "markerfacecolor": "white", "markersize": 6, "zorder": 5}
    upper.plot(paper[parameter], paper["max"], "D", color=GREY, label="the paper's result", **hollow)
    lower.plot(paper[parameter], paper["seconds"], "D", color=GREY, **hollow)
    star = {"color": RED, "markersize": 13, "markeredgecolor": "white", "zorder": 6, "linestyle": "none"}
    upper.plot(auto[parameter], auto["max"], "*", label="automatic choice", **star)
    lower.plot(auto[parameter], auto["seconds"], "*", **star)
    value = f"$R$ = {auto['scale']:.3g}" if parameter == "scale" else f"{auto[parameter]:.0f} {parameter}"
    last = max(curve(found, parameter)[0])
    side = "left" if parameter != "scale" else "right" if auto[parameter] > 0.8 * last else "center"
    text = {"textcoords": "offset points", "va": "top", "color": RED, "fontsize": 8.5, "linespacing": 1.15}
    upper.annotate(
        f"automatic:\n{value}, {auto['max']:.0e}", (auto[parameter], auto["max"]),
        ({"left": -7, "right": 7, "center": 0}[side], -8), ha=side, **text,
    )  # fmt: skip
    lower.annotate(
        f"{auto['seconds']:.2g} s", (auto[parameter], auto["seconds"]),
        (-9 if side == "right" else 9, 0), ha="right" if side == "right" else "left", **text,
    )  # fmt: skip


def _plain_ticks(*axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for ax in axes:
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())


def main(arguments: Sequence[str]) -> None:
    data: dict[str, Any] = (
        json.loads(DATA.read_text()) if DATA.exists() and "--again" not in arguments else {}
    )

    def keep() -> None:
        DATA.parent.mkdir(parents=True, exist_ok=True)
        temporary = DATA.with_suffix(".tmp")
        temporary.write_text(json.dumps(data, indent=1) + "\n")
        os.replace(temporary, DATA)

    if "--draw" not in arguments:
        for name, values in VALUES.items():
            study(pibls.cases[name], values, SEEDS, data.setdefault(name, {}), keep)
            print(f"{name} done", file=sys.stderr, flush=True)
    draw(data, FIGURE)
    print(f"drawn in {FIGURE.relative_to(ROOT)}")


if __name__ == "__main__":
    with threads(1):
        main(sys.argv[1:])
