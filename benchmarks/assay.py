"""u_t = ∂ₓ((D + E u/K) ∂ₓu) + r u (1 - u/K): the cells of `pibls.cases.assay`, fitted, tabled and drawn.

python -m benchmarks.assay            both models, all six densities (some ten minutes), page and picture
python -m benchmarks.assay 10000      one density
python -m benchmarks.assay --page     the page and its picture from what is stored
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import pibls
from pibls.cases import assay

DOCS = Path(__file__).resolve().parents[1] / "docs"
STORED = DOCS / "data" / "fit_cells.json"
PAGE = DOCS / "migrating_cells.md"
PICTURE = DOCS / "figures" / "migrating_cells.png"
TOL = 1e-2
"""Of each solve, relative to the largest density; a finer one moves the values by less than 1e-4 σ."""
BOUNDS = {assay.D: (1.0, 5000.0), assay.r: (0.0, 1.0), assay.E: (-2000.0, 5000.0)}


def fitted(cells: int, *, crowding: bool, start: dict[str, float] | None = None) -> pibls.Fit:
    """One model and one density, by the recipe of the publication."""
    problem = assay.problem(cells, crowding=crowding)
    unknown = {k: BOUNDS[k] for k in problem.parameters if k in BOUNDS}
    return pibls.fit(problem, assay.data(cells), unknown, start=start, tol=TOL, tolerance=1e-5)


def facts(fit: pibls.Fit) -> dict[str, Any]:
    """What the page needs of a fit."""
    return {
        "values": {str(k): v for k, v in fit.values.items()},
        "std": {str(k): v for k, v in fit.std.items()},
        "interval": {str(k): list(fit.interval(k)) for k in fit.parameters},
        "sigma": fit.sigma[0],
        "aic": fit.aic,
        "bic": fit.bic,
        "squares": fit.squares,
        "runs": fit.residuals.runs_p,
        "dw": fit.residuals.durbin_watson,
        "identifiable": str(fit.identifiable),
        "moved": fit.moved,
    }


def curves(fit: pibls.Fit) -> dict[str, Any]:
    """Value and band along x at each time."""
    xs = np.linspace(75, 1875, 73)
    times = [12.0, 24.0, 36.0, 48.0]
    found = {f"{s:g}": np.array(fit.band(assay.u, {assay.x: xs, assay.t: s})) for s in times}
    return {"x": xs.tolist(), **{k: np.round(v, 9).tolist() for k, v in found.items()}}


def run(chosen: list[int], kinds: tuple[bool, ...] = (False, True)) -> dict[str, Any]:
    """The fits, each stored as soon as it is there; a fit that is stored is where the next one begins."""
    stored: dict[str, Any] = json.loads(STORED.read_text()) if STORED.exists() else {}
    for crowding in kinds:
        for cells in chosen:
            key = f"{cells} {'crowding' if crowding else 'fisher'}"
            before = stored.get(key, {}).get("values")
            plain = {**stored.get(f"{cells} fisher", {}).get("values", {}), "E": 0.0}
            fit = fitted(cells, crowding=crowding, start=before or (plain if crowding else None))
            stored[key] = facts(fit)
            if not crowding:
                stored[f"{cells} curves"] = curves(fit)
            print(key, stored[key]["values"], flush=True)
            STORED.write_text(json.dumps(stored) + "\n")
    return stored


def table(stored: dict[str, Any]) -> str:
    """Fisher-KPP beside the published values."""
    lines = [
        "| cells | D, µm²/h | 95 % | published | r, 1/h | 95 % | published | runs test p |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cells in assay.INITIAL_CELLS:
        one = stored[f"{cells} fisher"]
        (D, r), (low, high), (slow, fast) = (
            one["values"].values(), one["interval"]["D"], one["interval"]["r"]
        )  # fmt: skip
        known = assay.PUBLISHED[cells]
        off = 100 * (D / known[0] - 1), 100 * (r / known[1] - 1)
        lines.append(
            f"| {cells:,} | {D:.0f} | {low:.0f} … {high:.0f} | {known[0]:.0f} ({off[0]:+.1f} %) | {r:.4f} "
            f"| {slow:.4f} … {fast:.4f} | {known[1]:.3f} ({off[1]:+.1f} %) | {one['runs']:.1g} |"
        )
    return "\n".join(lines)


def models(stored: dict[str, Any]) -> str:
    """With D + E u/K beside Fisher-KPP, which is E = 0."""
    from scipy import special

    lines = [
        "| cells | D | E | r | AIC less that of Fisher-KPP | F-test of E = 0, p | runs test p |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cells in assay.INITIAL_CELLS:
        key = f"{cells} crowding"
        if key not in stored:
            continue
        one, plain = stored[key], stored[f"{cells} fisher"]
        n = len(assay.data(cells))
        F = (plain["squares"] - one["squares"]) / (one["squares"] / (n - 3))
        p = float(special.fdtrc(1, n - 3, F))
        v, s = one["values"], one["std"]
        lines.append(
            f"| {cells:,} | {v['D']:.0f} ± {s['D']:.0f} | {v['E']:.0f} ± {s['E']:.0f} | {v['r']:.4f} "
            f"| {one['aic'] - plain['aic']:+.0f} | {p:.0e} | {one['runs']:.1g} |"
        )
    return "\n".join(lines)


def draw(stored: dict[str, Any]) -> None:
    """Data, fit and band at each time, for the six densities."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6.4), sharex=True, sharey=True, layout="constrained")
    for axis, cells in zip(axes.ravel(), assay.INITIAL_CELLS, strict=True):
        rows, found = assay.of(cells), stored[f"{cells} curves"]
        for k, s in enumerate((12.0, 24.0, 36.0, 48.0)):
            part = rows[rows[:, 1] == s]
            for replicate in part[:, 2:].T:
                axis.plot(part[:, 0], 1e3 * replicate, ".", ms=2.5, color=f"C{k}", alpha=0.6)
            value, low, high = 1e3 * np.array(found[f"{s:g}"])
            axis.plot(found["x"], value, color=f"C{k}", lw=1.5, label=f"{s:g} h")
            axis.fill_between(found["x"], low, high, color=f"C{k}", alpha=0.25, lw=0)
        D, r = stored[f"{cells} fisher"]["values"].values()
        axis.set_title(f"{cells:,} cells: D = {D:.0f} µm²/h, r = {r:.3f} /h", fontsize=10)
    axes[0, 0].legend(fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("x, µm")
    for axis in axes[:, 0]:
        axis.set_ylabel("cells per 1000 µm²")
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def page(stored: dict[str, Any]) -> str:
    """The page with its two tables made anew."""
    text = PAGE.read_text(encoding="utf-8")
    for name, made in (("fisher", table(stored)), ("models", models(stored))):
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{begin}{made}\n{end}{after}"
    return text


def main(*arguments: str) -> None:
    if "--page" in arguments:
        stored = json.loads(STORED.read_text())
    else:
        stored = run([int(a) for a in arguments] or list(assay.INITIAL_CELLS))
    draw(stored)
    PAGE.write_text(page(stored), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
