"""Fits of u_t = ∂ₓ((D + E u/K) ∂ₓu) + u g(u) to the data of `pibls.cases.assay`, with tables and figures.

python -m benchmarks.assay            three models, all six densities (about ten minutes), page and figures
python -m benchmarks.assay 10000      one density
python -m benchmarks.assay --law      the unknown growth law alone
python -m benchmarks.assay --twin     the growth law from synthetic data with a known law
python -m benchmarks.assay --page     the page and its figures from the stored results
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
LAWS = DOCS / "figures" / "growth_laws.png"
PREDICTIONS = DOCS / "figures" / "assay_predictions.png"
HOLDOUT = DOCS / "data" / "assay_holdout.json"
MODELS = ("fisher", "crowding", "law")
RANGE = (0.0, assay.CAPACITY)
"""Range of the density for the unknown growth law."""
SYNTHETIC_LAWS = {
    "logistic": 0.05 * (1 - assay.u / assay.CAPACITY),
    "late": 0.05 * (1 - (assay.u / assay.CAPACITY) ** 3),
    "slow at first": 0.04 * (assay.u / 3e-4) / (1 + assay.u / 3e-4) * (1 - assay.u / assay.CAPACITY) * 1.5,
}
"""Known growth laws g(u) of the synthetic data."""
TITLES = {
    "logistic": "logistic, r (1 - u/K)",
    "late": "generalised logistic, r (1 - (u/K)³)",
    "slow at first": "weak Allee effect, slow at low density",
}
"""Their descriptions in the table."""
TOL = 1e-2
"""Relative tolerance of each solve; a smaller one changes the fitted values by less than 1e-4 σ."""
BOUNDS = {assay.D: (1.0, 5000.0), assay.r: (0.0, 1.0), assay.E: (-2000.0, 5000.0)}


def fit_model(cells: int, *, crowding: bool, start: dict[str, float] | None = None) -> pibls.Fit:
    """Fit one model to one initial density, as in the publication."""
    problem = assay.problem(cells, crowding=crowding)
    unknown = {k: BOUNDS[k] for k in problem.parameters if k in BOUNDS}
    return pibls.fit(problem, assay.data(cells), unknown, start=start, tol=TOL, tolerance=1e-5)


def fit_growth_law(problem: pibls.Problem, data: pibls.Data, D: float, r: float) -> pibls.Fit:
    """Fit D and the rate g(u), starting from the straight line of Fisher-KPP."""
    rate = pibls.Field("g", RANGE, degree=5, start=lambda s: r * (1 - s / assay.CAPACITY))
    unknown = {assay.D: BOUNDS[assay.D], assay.g(assay.u): rate}
    return pibls.fit(problem, data, unknown, start={"D": D}, tol=TOL, tolerance=1e-4)


def growth_law_record(fit: pibls.Fit) -> dict[str, Any]:
    """Return the record of a fitted growth law: that of the fit, the rate and its band."""
    s = np.linspace(*RANGE, 35)
    return {
        **fit_record(fit),
        "freedom": fit.misfit.effective_parameters,
        "density": s.tolist(),
        "rate": np.round(fit.function("g", s), 7).tolist(),
    }


def fit_growth_laws(chosen: list[int]) -> dict[str, Any]:
    """Fit the unknown growth law for these densities; each result is stored at once."""
    stored: dict[str, Any] = json.loads(STORED.read_text())
    for cells in chosen:
        values = stored[f"{cells} fisher"]["values"]
        fit = fit_growth_law(assay.problem(cells, law=True), assay.data(cells), values["D"], values["r"])
        stored[f"{cells} law"] = growth_law_record(fit)
        print(fit.summary(), flush=True)
        STORED.write_text(json.dumps(stored) + "\n")
    return stored


def fit_synthetic_data(seeds: int = 3, cells: int = 10_000) -> dict[str, Any]:
    """Fit synthetic data of known growth laws, with the positions, times and noise of one experiment."""
    stored: dict[str, Any] = json.loads(STORED.read_text())
    like, sigma = assay.data(cells), stored[f"{cells} fisher"]["sigma"]
    problem = assay.problem(cells, law=True)
    rows = []
    for name, law in SYNTHETIC_LAWS.items():
        true = problem.at({assay.D: 400.0}).at({assay.g(assay.u): law})
        exact = pibls.solve(true, tol=1e-4)(*like.X.T)
        for seed in range(seeds):
            noise = np.random.default_rng((3, seed)).standard_normal(len(like))
            data = pibls.Data(assay.u, dict(zip(like.coordinates, like.X.T)), exact + sigma * noise)
            fit = fit_growth_law(problem, data, 600.0, 0.04)
            low, high = np.quantile(exact, [0.02, 0.98])
            s = np.linspace(float(low), float(high), 41)
            value, low, high = fit.function("g", s)
            want = np.array([float(law.subs(assay.u, v)) for v in s])
            inside = float(np.mean((low <= want) & (want <= high)))
            D, off = fit.interval(assay.D), float(np.abs(value - want).max())
            rows.append(
                {"law": name, "seed": seed, "inside": inside, "error": off, "D": list(D), "true": 400.0}
            )
            print(rows[-1], flush=True)
            stored["twins"] = rows
            STORED.write_text(json.dumps(stored) + "\n")
    return stored


def fit_record(fit: pibls.Fit) -> dict[str, Any]:
    """Return the values of a fit that the page shows, for JSON."""
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
    """Return value and confidence band along x at each time."""
    xs = np.linspace(75, 1875, 73)
    times = [12.0, 24.0, 36.0, 48.0]
    found = {f"{s:g}": np.array(fit.band(assay.u, {assay.x: xs, assay.t: s})) for s in times}
    return {"x": xs.tolist(), **{k: np.round(v, 9).tolist() for k, v in found.items()}}


def run(chosen: list[int], kinds: tuple[bool, ...] = (False, True)) -> dict[str, Any]:
    """Run the fits, starting from stored values where there are any; each result is stored at once."""
    stored: dict[str, Any] = json.loads(STORED.read_text()) if STORED.exists() else {}
    for crowding in kinds:
        for cells in chosen:
            key = f"{cells} {'crowding' if crowding else 'fisher'}"
            before = stored.get(key, {}).get("values")
            plain = {**stored.get(f"{cells} fisher", {}).get("values", {}), "E": 0.0}
            fit = fit_model(cells, crowding=crowding, start=before or (plain if crowding else None))
            stored[key] = fit_record(fit)
            if not crowding:
                stored[f"{cells} curves"] = curves(fit)
            print(key, stored[key]["values"], flush=True)
            STORED.write_text(json.dumps(stored) + "\n")
    return stored


def fisher_table(stored: dict[str, Any]) -> str:
    """Return the table of Fisher-KPP parameters beside the published values."""
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


def diffusion_table(stored: dict[str, Any]) -> str:
    """Return the table of density-dependent diffusion, D + E u/K; Fisher-KPP is E = 0."""
    from scipy import special

    lines = [
        "| cells | D | E | r | AIC minus AIC of Fisher-KPP | p of E = 0 (F-test) | runs test p |",
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


def law_table(stored: dict[str, Any]) -> str:
    """Return the table of the unknown growth law."""
    lines = [
        "| cells | D | g at 2, 6, 10·10⁻⁴ per µm² | degrees of freedom of g | AIC minus AIC of Fisher-KPP "
        "| AIC minus AIC with E | runs test p |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cells in assay.INITIAL_CELLS:
        if f"{cells} law" not in stored:
            continue
        one, plain, crowded = (stored[f"{cells} {m}"] for m in ("law", "fisher", "crowding"))
        value, low, high = np.array(one["rate"])
        at = [int(np.argmin(np.abs(np.array(one["density"]) - s))) for s in (2e-4, 6e-4, 1e-3)]
        rates = ", ".join(f"{value[i]:.3f} ± {0.5 * (high[i] - low[i]):.3f}" for i in at)
        lines.append(
            f"| {cells:,} | {one['values']['D']:.0f} ± {one['std']['D']:.0f} | {rates} | "
            f"{one['freedom'] - 1:.1f} "
            f"| {one['aic'] - plain['aic']:+.0f} | {one['aic'] - crowded['aic']:+.0f} | {one['runs']:.1g} |"
        )
    missing = [f"{c:,}" for c in assay.INITIAL_CELLS if f"{c} law" not in stored]
    if missing:
        lines += [
            "",
            f"The law was not fitted for {', '.join(missing)} cells.",
        ]
    return "\n".join(lines)


def model_selection_text(stored: dict[str, Any]) -> str:
    """Return which model the data support, as a text from the three tables."""
    import textwrap

    there = [c for c in assay.INITIAL_CELLS if f"{c} law" in stored]
    best: dict[str, list[int]] = {m: [] for m in MODELS}
    tied = []
    for cells in there:
        aic = {m: stored[f"{cells} {m}"]["aic"] for m in MODELS}
        order = sorted(MODELS, key=lambda m: aic[m])
        best[order[0]].append(cells)
        if aic[order[1]] - aic[order[0]] < 4:
            tied.append(cells)
    names = {
        "fisher": "Fisher-KPP",
        "crowding": "density-dependent diffusion",
        "law": "the unknown growth law",
    }
    preferred = [
        f"{names[m]} at {', '.join(f'{c:,}' for c in cells)} cells" for m, cells in best.items() if cells
    ]
    tie = f" At {', '.join(f'{c:,}' for c in tied)} cells the next best is within 4." if tied else ""
    runs = [sum(stored[f"{c} {m}"]["runs"] > 0.01 for c in there) for m in MODELS]
    spread = [stored[f"{c} law"]["values"]["D"] / stored[f"{c} fisher"]["values"]["D"] for c in there]
    text = (
        f"AIC prefers {' and '.join(preferred)}.{tie} The residuals pass the runs test (p above 0.01) at "
        f"{runs[0]} of {len(there)} densities for Fisher-KPP, at {runs[1]} for density-dependent diffusion, "
        f"and at {runs[2]} for the unknown law. With the unknown law D is {min(spread):.1f} to "
        f"{max(spread):.1f} times that of Fisher-KPP. Hence these data do not determine the diffusivity "
        "without knowledge of the growth law."
    )
    return textwrap.fill(text, 115)


def synthetic_table(stored: dict[str, Any]) -> str:
    """Return how often the band contained the law of synthetic data."""
    lines = ["| law | points in the 95 % band | D in its interval |", "| --- | --- | --- |"]
    rows = stored.get("twins", [])
    if not rows:
        return "Not measured yet."
    for name in dict.fromkeys(r["law"] for r in rows):
        mine = [r for r in rows if r["law"] == name]
        covered = sum(r["D"][0] <= r["true"] <= r["D"][1] for r in mine)
        shares = ", ".join(f"{r['inside']:.0%}" for r in mine)
        lines.append(f"| {TITLES[name]} | {shares} | {covered} of {len(mine)} |")
    overall = np.mean([r["inside"] for r in rows])
    return "\n".join([*lines, "", f"{overall:.0%} of all points lie in the band."])


def draw_laws(stored: dict[str, Any]) -> None:
    """Draw g(u) with its band for the six densities, beside r (1 - u/K)."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6.0), sharex=True, sharey=True, layout="constrained")
    for axis, cells in zip(axes.ravel(), assay.INITIAL_CELLS, strict=True):
        axis.set(title=f"{cells:,} cells", xlim=(0, 1.7), ylim=(-0.1, 0.15))
        if f"{cells} law" not in stored:
            axis.text(0.85, 0.02, "not fitted", ha="center", color="0.5")
            continue
        one, r = stored[f"{cells} law"], stored[f"{cells} fisher"]["values"]["r"]
        s, (value, low, high) = 1e3 * np.array(one["density"]), np.array(one["rate"])
        seen = 1e3 * assay.data(cells).values
        axis.fill_between(s, low, high, color="C0", alpha=0.25, lw=0, label="95 % band")
        axis.plot(s, value, color="C0", lw=1.8, label="g(u), from the data")
        axis.plot(s, r * (1 - s / (1e3 * assay.CAPACITY)), color="0.35", ls="--", lw=1.2, label="r (1 - u/K)")
        axis.plot(seen, np.full(len(seen), -0.098), "|", color="0.5", ms=4, alpha=0.25)
        axis.axhline(0, color="0.8", lw=0.8, zorder=0)
    axes[0, 0].legend(fontsize=8, loc="upper right")
    for axis in axes[-1]:
        axis.set_xlabel("density u, cells per 1000 µm²")
    for axis in axes[:, 0]:
        axis.set_ylabel("growth rate, 1/h")
    figure.savefig(LAWS, dpi=110)
    plt.close(figure)


COLOURS = {0.0: "0.35", 12.0: "C0", 24.0: "C1", 36.0: "C2", 48.0: "C3"}


def draw_replicates(axis: Any, cells: int, times: tuple[float, ...], alpha: float = 0.55) -> None:
    """Draw the three replicates as dots, one colour per time."""
    rows = assay.experiment(cells)
    for s in times:
        part = rows[rows[:, 1] == s]
        for replicate in part[:, 2:].T:
            axis.plot(part[:, 0], 1e3 * replicate, ".", ms=2.8, color=COLOURS[s], alpha=alpha)


def initial_values(cells: int, x: Any) -> Any:
    """Return the initial density at x."""
    import sympy as sp

    return sp.lambdify(assay.x, assay.initial_density(cells))(x)


def add_legend(figure: Any, times: tuple[float, ...], band: str, line: str) -> None:
    """Add one legend for all panels: colours of the times, dots, lines and bands."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Line2D([], [], color=COLOURS[s], lw=2.5, label=f"{s:g} h") for s in times]
    handles.append(Line2D([], [], color="0.3", marker=".", ls="", ms=6, label="measured, three replicates"))
    handles.append(Line2D([], [], color="0.3", lw=1.5, label=line))
    handles.append(Patch(color="0.3", alpha=0.3, lw=0, label=band))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8.5, frameon=False
    )


def draw_predictions(holdout: dict[str, Any]) -> None:
    """Draw predictions and bands at 36 and 48 h, fitted to 12 and 24 h, beside the measurements."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6.8), sharex=True, sharey=True, layout="constrained")
    for k, (axis, cells) in enumerate(zip(axes.ravel(), assay.INITIAL_CELLS, strict=True)):
        found, x = holdout[f"{cells}"]["fisher"]["times"], assay.experiment(cells)
        x = x[x[:, 1] == 0, 0]
        inside = []
        for s in (36.0, 48.0):
            draw_replicates(axis, cells, (s,))
            value, low, high = 1e3 * np.array(found[f"{s:g}"]["curve"])
            axis.plot(x, value, color=COLOURS[s], lw=1.5)
            axis.fill_between(x, low, high, color=COLOURS[s], alpha=0.2, lw=0)
            inside.append(
                f"{s:g} h: score {found[f'{s:g}']['score']:.2f}, {found[f'{s:g}']['coverage']:.0%} inside"
            )
        axis.set_title(f"({chr(97 + k)})  {cells:,} cells", fontsize=10, loc="left")
        axis.text(0.02, 0.98, "\n".join(inside), transform=axis.transAxes, va="top", fontsize=8)
    axes[0, 0].set_ylim(0, 2.5)
    add_legend(figure, (36.0, 48.0), "95 % prediction band of a measurement", "predicted from 12 and 24 h")
    for axis in axes[-1]:
        axis.set_xlabel("x, µm")
    for axis in axes[:, 0]:
        axis.set_ylabel("cells per 1000 µm²")
    figure.savefig(PREDICTIONS, dpi=110)
    plt.close(figure)


def draw(stored: dict[str, Any]) -> None:
    """Draw data, fit and band at each time for the six densities."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6.8), sharex=True, sharey=True, layout="constrained")
    for k, (axis, cells) in enumerate(zip(axes.ravel(), assay.INITIAL_CELLS, strict=True)):
        found = stored[f"{cells} curves"]
        draw_replicates(axis, cells, (0.0, *assay.TIMES))
        fine = np.linspace(75, 1875, 361)
        axis.plot(fine, 1e3 * initial_values(cells, fine), color=COLOURS[0.0], lw=1.2)
        for s in assay.TIMES:
            value, low, high = 1e3 * np.array(found[f"{s:g}"])
            axis.plot(found["x"], value, color=COLOURS[s], lw=1.5)
            axis.fill_between(found["x"], low, high, color=COLOURS[s], alpha=0.3, lw=0)
        D, r = stored[f"{cells} fisher"]["values"].values()
        axis.set_title(
            f"({chr(97 + k)})  {cells:,} cells: D = {D:.0f} µm²/h, r = {r:.3f} /h", fontsize=10, loc="left"
        )
    add_legend(figure, (0.0, *assay.TIMES), "95 % band of the mean", "fit; at 0 h the initial state")
    for axis in axes[-1]:
        axis.set_xlabel("x, µm")
    for axis in axes[:, 0]:
        axis.set_ylabel("cells per 1000 µm²")
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def page(stored: dict[str, Any]) -> str:
    """Return the page with its tables replaced."""
    text = PAGE.read_text(encoding="utf-8")
    parts = {"fisher": fisher_table(stored), "models": diffusion_table(stored), "laws": law_table(stored)}
    parts |= {"verdict": model_selection_text(stored), "twins": synthetic_table(stored)}
    return replace_sections(text, parts)


def replace_sections(text: str, parts: dict[str, str]) -> str:
    """Return the text with new contents between each pair of marks."""
    for name, content in parts.items():
        if f"<!-- {name} -->\n" not in text:
            raise ValueError(f"{PAGE.name} has no mark {name}")
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{begin}{content}\n{end}{after}"
    return text


def main(*arguments: str) -> None:
    if "--page" in arguments:
        stored = json.loads(STORED.read_text())
    elif "--twin" in arguments:
        stored = fit_synthetic_data()
    else:
        chosen = [int(a) for a in arguments if a.isdigit()] or list(assay.INITIAL_CELLS)
        if "--law" not in arguments:
            run(chosen)
        stored = fit_growth_laws(chosen)
    draw(stored)
    draw_laws(stored)
    draw_predictions(json.loads(HOLDOUT.read_text())["time"])
    PAGE.write_text(page(stored), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
