"""docs/migrating_cells.md: the fits, the predictions of held-out data, and the authors' experiment."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from benchmarks import assay as fits
from benchmarks import assay_forward, assay_holdout
from benchmarks.pages.text import sci, span, wrapped
from benchmarks.report_tables import table
from pibls.cases import assay

CELLS = tuple(f"{c}" for c in assay.INITIAL_CELLS)
LATE = tuple(f"{s:g}" for s in assay_holdout.LATE)
TIMES = tuple(f"{s:g}" for s in assay.TIMES)


def thousands(cells: str) -> str:
    return f"{int(cells):,}"


def percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


def time_table(held: dict[str, Any]) -> str:
    """Return the table of the fits to 12 and 24 h with their scores and those of simpler predictions."""
    rows = []
    for cells in CELLS:
        one = held["time"][cells]
        values, std = one["fisher"]["values"], one["fisher"]["std"]
        for s in LATE:
            found, others = one["fisher"]["times"][s], one["baselines"][s]
            rows.append(
                [
                    thousands(cells),
                    f"{values['D']:.0f} ± {std['D']:.0f}",
                    f"{values['r']:.4f} ± {std['r']:.4f}",
                    s,
                    f"{found['rms']:.1e}",
                    f"{one['scatter'][s]:.1e}",
                    f"**{found['score']:.2f}**",
                    f"{others['fitted']:.2f}",
                    f"{others['line']:.2f}",
                    f"{others['growth alone']:.2f}",
                    f"{others['unchanged']:.2f}",
                    percent(found["coverage"]),
                ]
            )
    head = [
        "cells",
        "D",
        "r",
        "h",
        "RMS of prediction - mean",
        "scatter",
        "score",
        "score of the fit to all times",
        "straight line",
        "growth without diffusion",
        "unchanged",
        "in the 95 % band",
    ]
    return table(head, rows)


def replicate_table(held: dict[str, Any]) -> str:
    """Return the table of predictions for a replicate that was left out, by density."""
    rows = []
    for cells in CELLS:
        each = held["replicate"][cells].values()
        scores = [[q["times"][s]["score"] for s in TIMES] for q in each]
        others = [[q["other two"][s] for s in TIMES] for q in each]
        inside = [np.mean([q["times"][s]["coverage"] for s in TIMES]) for q in each]
        rows.append(
            [
                thousands(cells),
                span([q["values"]["D"] for q in each], digits=3).replace(" to ", " … "),
                " … ".join(
                    f"{v:.4f}"
                    for v in (min(q["values"]["r"] for q in each), max(q["values"]["r"] for q in each))
                ),
                f"**{np.sqrt(np.mean(np.square(scores))):.2f}**",
                f"{np.min(scores):.2f} … {np.max(scores):.2f}",
                f"{np.sqrt(np.mean(np.square(others))):.2f}",
                ", ".join(percent(float(v)) for v in inside),
            ]
        )
    head = [
        "cells",
        "D",
        "r",
        "score, all times",
        "range",
        "score of the mean of the other two",
        "in the 95 % band",
    ]
    return table(head, rows)


def density_table(held: dict[str, Any]) -> str:
    """Return the table of predictions with D and r from the other five densities."""
    rows = []
    for cells in CELLS:
        one = held["density"][cells]
        values, half, times = one["values"], one["half"], one["times"]
        near = {
            k: np.sqrt(np.mean([times[s]["neighbours"][k] ** 2 for s in TIMES]))
            for k in times["12"]["neighbours"]
        }
        rows.append(
            [
                thousands(cells),
                f"{values['D']:.0f} ± {half['D']:.0f}",
                f"{values['r']:.4f} ± {half['r']:.4f}",
                *(f"{times[s]['score']:.2f}" for s in TIMES),
                f"**{pooled_score(times):.2f}**",
                f"{pooled_score(times, 'own'):.2f}",
                ", ".join(f"{v:.2f} ({thousands(k)})" for k, v in near.items()),
                percent(float(np.mean([times[s]["coverage"] for s in TIMES]))),
            ]
        )
    head = [
        "cells",
        "D",
        "r",
        *(f"{s} h" for s in TIMES),
        "score, all times",
        "own fit",
        "score with the parameters of a neighbouring density",
        "in the 95 % band",
    ]
    return table(head, rows)


def pooled_score(times: dict[str, Any], key: str = "score") -> float:
    """Return the root mean square of a score over all times."""
    return float(np.sqrt(np.mean([times[s][key] ** 2 for s in TIMES])))


def forward_table(stored: dict[str, Any]) -> str:
    """Return the table of forward solutions with the authors' settings in two units, and without settings."""
    titles = {"published": "as published", "scaled units": "same, scaled units", "no settings": "no settings"}
    rows = []
    for cells in CELLS:
        for name, one in stored[cells].items():
            late, losses = max(one["errors"][1:]), one["losses"]
            said = [sci(losses[k], 1) for k in ("zero", "linearised", "end")] if losses else ["", "", ""]
            rows.append(
                [
                    thousands(cells),
                    titles[name],
                    f"`{one['status']}`",
                    percent_of(one["errors"][0]),
                    percent_of(late),
                    ", ".join(f"{one['scores'][s]:.2f}" for s in TIMES),
                    *said,
                ]
            )
    head = [
        "cells",
        "settings",
        "status",
        "error at 0 h",
        "error from 12 h on",
        "scores at 12, 24, 36, 48 h",
        "½‖r‖² of u = 0",
        "½‖r‖² of the linearised problem",
        "½‖r‖² at the end",
    ]
    return table(head, rows)


def percent_of(value: float) -> str:
    return f"{100 * value:.1f} %" if value >= 5e-4 else f"{100 * value:.4f} %"


def crowding_text(held: dict[str, Any]) -> str:
    """Return a sentence on whether D + E u/K predicts better from the same data."""
    found = held.get("crowding", {})
    done = {c: v for c, v in found.items() if "times" in v}
    if not done:
        return ""
    pairs = [
        (v["times"][s]["score"], held["time"][c]["fisher"]["times"][s]["score"])
        for c, v in done.items()
        for s in LATE
    ]
    better = sum(a < b - 0.05 for a, b in pairs)
    worse = sum(a > b + 0.05 for a, b in pairs)
    failed = [thousands(c) for c, v in found.items() if "failed" in v]
    rest = f" This fit failed at {', '.join(failed)} cells." if failed else ""
    return (
        f" Density-dependent diffusion (D + E u/K), fitted to the same two times at "
        f"{', '.join(map(thousands, done))} cells, improves the score by more than 0.05 in {better} of "
        f"{len(pairs)} predictions, and worsens it in {worse}.{rest}"
    )


def generalisation_text(held: dict[str, Any], forward: dict[str, Any]) -> str:
    """Return the result of the three studies for "strong generalization from limited data"."""
    late = [held["time"][c]["fisher"]["times"][s] for c in CELLS for s in LATE]
    base = [held["time"][c]["baselines"][s] for c in CELLS for s in LATE]
    scores, low = [q["score"] for q in late], sum(q["bias"] < 0 for q in late)
    beaten = [
        f"{thousands(c)} ({s} h)"
        for c in CELLS
        for s in LATE
        if held["time"][c]["baselines"][s]["line"] < held["time"][c]["fisher"]["times"][s]["score"]
    ]
    left = [q["times"][s] for c in CELLS for q in held["replicate"][c].values() for s in TIMES]
    pooled = np.sqrt(np.mean([q["score"] ** 2 for q in left]))
    two = np.sqrt(
        np.mean([q["other two"][s] ** 2 for c in CELLS for q in held["replicate"][c].values() for s in TIMES])
    )
    density = {
        c: (pooled_score(held["density"][c]["times"]), pooled_score(held["density"][c]["times"], "own"))
        for c in CELLS
    }
    covered = np.mean([held["density"][c]["times"][s]["coverage"] for c in CELLS for s in TIMES])
    rates = [held["time"][c]["fisher"]["values"]["r"] for c in CELLS]
    errors = [max(forward[c]["published"]["errors"][1:]) for c in CELLS]
    text = f"""\
**Result for "strong generalization from limited data": not supported for prediction in time; supported across
replicates and, within the range of fitted densities, across densities.**

- *Time.* The predictions for 36 and 48 h have scores of {min(scores):.2f} to {max(scores):.2f}; the fit to
all times has {min(b["fitted"] for b in base):.2f} to {max(b["fitted"] for b in base):.2f}. The 95 %
bands contain {percent(min(q["coverage"] for q in late))} to {
        percent(max(q["coverage"] for q in late))
    } of the
measurements ({percent(float(np.mean([q["coverage"] for q in late])))} on average). {low} of {
        len(late)
    } predictions are
too low: the growth rate from the first day, {min(rates):.3f} to {
        max(rates):.3f} per hour, is smaller than that from
two days at every density. A straight line through 12 and 24 h, without an equation, predicts better for
{", ".join(beaten) or "none"} cells. The equation predicts better than the unchanged density in
{sum(q["score"] < b["unchanged"] for q, b in zip(late, base))} of {len(late)} cases.{crowding_text(held)}
- *Replicates.* A replicate that was left out is predicted with a score of {pooled:.2f}; the mean of the
two others at the same place and time has {two:.2f} (√1.5, by construction). The bands contain
{percent(float(np.mean([q["coverage"] for q in left])))} of its measurements.
- *Densities.* With D and r from the other five densities the scores are
{span([a for a, _ in list(density.values())[1:-1]])} for the inner four (own fits: {
        span([b for _, b in list(density.values())[1:-1]])
    }), and {density[CELLS[0]][0]:.2f} and {density[CELLS[-1]][0]:.2f} for the two extrapolated ones
(own fits: {density[CELLS[0]][1]:.2f} and {density[CELLS[-1]][1]:.2f}). The bands contain
{percent(float(covered))}, but they are wide: the uncertainty of D is ± {
        span([held["density"][c]["half"]["D"] for c in CELLS])
    }
µm²/h.
- *Equation and network.* The generalisation is a property of the equation, not of the network. Any solver
that is accurate to a few percent gives the same predictions: finite differences and `pibls` without settings
agree to {
        sci(max(max(forward[c]["no settings"]["errors"]) for c in CELLS))
    } of the largest density. PIBLS with the published
settings has an error of {span([100 * e for e in errors])} % from 12 h on.
- *The authors' experiment.* It does not test generalisation: its D and r had been fitted by others to the
same measurements at all times, and no data are held out."""
    return wrapped(text).strip()


def text() -> str:
    held, forward = assay_holdout.read(), json.loads(assay_forward.STORED.read_text())
    page = fits.page(json.loads(fits.STORED.read_text()))
    parts = {
        "time": time_table(held),
        "replicate": replicate_table(held),
        "density": density_table(held),
        "forward": forward_table(forward),
        "generalisation": generalisation_text(held, forward),
    }
    return fits.replace_sections(page, parts)
