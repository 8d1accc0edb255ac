"""docs/ablation.md, from docs/data/ablation.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Any

import pibls
from benchmarks import ablation
from benchmarks.pages.reading import PLANE
from benchmarks.pages.text import filled, names, plain, sci, span, template, with_cases, word
from benchmarks.report_tables import table

BROAD = ("broad", "broad, whiten", "broad, sparse", "broad, whiten, sparse")
FEATURES = ("features only", "features, sparse")
_FACTOR_OF_TEN = 10.0
_EQUAL_WITHIN = 3.0
"""Factor within which two medians of five seeds count as equal."""
_FAILED_ABOVE = 1e3
"""Ratio of errors to the best broad variant above which plain features have failed."""

Data = Mapping[str, Any]


def read() -> Data:
    data: Data = json.loads(ablation.DATA.read_text())
    return {case: data[case] for case in pibls.cases}


def error(found: Data, variant: str) -> float:
    return float(median(found["errors"][variant]))


def best(found: Data, variant: str) -> tuple[float, float] | None:
    """Return the best scale of a variant and its error; None if it was not searched.

    The search uses fewer seeds: if its scale is not better over all seeds, the published one is returned.
    """
    if variant not in found["best"]:
        return None
    there, here = float(median(found["best"][variant]["errors"])), error(found, variant)
    return (found["best"][variant]["scale"], there) if there < here else (found["scale"], here)


def best_features(found: Data) -> tuple[float, float]:
    """Return the best scale of plain features and its error."""
    scale = best(found, "features only")
    assert scale is not None
    return scale


def best_broad(found: Data) -> float:
    """Return the smallest error of the broad variants at the published scale."""
    return min(error(found, v) for v in BROAD)


def equal_terms(found: Data) -> float | None:
    """Return the ratio of the smallest errors of plain features and broad variants at their best scales."""
    broad = [b[1] for v in BROAD if (b := best(found, v)) is not None]
    features = [b[1] for v in FEATURES if (b := best(found, v)) is not None]
    return min(features) / min(broad) if broad else None


def _table(data: Data) -> str:
    rows = []
    for case, found in data.items():
        used = "broad, whiten" if found["whiten"] else "broad"
        cells = [
            f"**{sci(error(found, v), 1)}**" if v == used else sci(error(found, v), 1)
            for v in (*FEATURES, *BROAD)
        ]
        fourier = f"{sci(error(found, 'waves'), 1)} (N = {found['waves']['nodes']})"
        rows.append([case, f"{found['nodes']}", f"{found['scale']:g}", *cells, fourier])
    return table(["case", "nodes", "R", *FEATURES, *BROAD, "Fourier"], rows)


def _best_table(data: Data) -> str:
    rows = []
    for case, found in data.items():
        scales = [best(found, v) for v in (*FEATURES, *BROAD)]
        cells = ["not searched" if b is None else f"{sci(b[1], 1)} (R = {plain(b[0])})" for b in scales]
        ratio = equal_terms(found)
        rows.append([case, *cells, "" if ratio is None else plain(ratio)])
    return table(["case", *FEATURES, *BROAD, "features / broad"], rows)


def ratios(data: Data, above: str, below: str) -> dict[str, float]:
    return {case: error(found, above) / error(found, below) for case, found in data.items()}


def blanks(data: Data) -> dict[str, str]:
    against = {c: error(f, "features only") / best_broad(f) for c, f in data.items()}
    rescued = [c for c, v in against.items() if v > _FAILED_ABOVE]
    near = {c: v for c, v in against.items() if c not in rescued and v > 1 / _FACTOR_OF_TEN}
    return {
        "seeds": word(len(ablation.SEEDS)),
        "earlier": _earlier(data),
        "table": _table(data),
        "best_table": _best_table(data),
        **_equal(data),
        "near": span(near.values()),
        "near_count": word(len(near)),
        "features_win": with_cases({c: v for c, v in against.items() if v <= 1 / _FACTOR_OF_TEN}),
        **_rescued(data, rescued),
        **_parts(data),
        **_search(data),
        **_waves(data),
    }


def _equal(data: Data) -> dict[str, str]:
    ratios = {c: r for c, f in data.items() if (r := equal_terms(f)) is not None}
    wide = {c: v for c, v in ratios.items() if v > _EQUAL_WITHIN}
    gains = {
        c: max(error(f, v) / b[1] for v in BROAD if (b := best(f, v)) is not None)
        for c, f in data.items()
        if c in ratios
    }
    return {
        "equal_span": span(ratios.values()),
        "equal_all": word(len(ratios)),
        "equal_wide": f"by {with_cases(wide)}" if wide else "on no case",
        "equal_count": word(sum(1 / _EQUAL_WITHIN <= v <= _EQUAL_WITHIN for v in ratios.values())),
        "equal_features": f"by {with_cases(close)}" if (close := _inverse(ratios)) else "on no case",
        "gain_large": with_cases({c: v for c, v in gains.items() if v >= _FACTOR_OF_TEN}),
        "fewer": _fewer(data),
    }


def _inverse(ratios: Mapping[str, float]) -> dict[str, float]:
    """Return the factors of the cases in which plain features are better."""
    return {c: 1 / v for c, v in ratios.items() if v < 1 / _EQUAL_WITHIN}


def _fewer(data: Data) -> str:
    """Return a sentence on searches with fewer seeds or without results."""
    few = [
        c for c, f in data.items() if any(len(b["errors"]) < len(ablation.SEEDS) for b in f["best"].values())
    ]
    left = [c for c, f in data.items() if any(v not in f["best"] for v in (*FEATURES, *BROAD))]
    out = f" On {names(few)} some searches used one seed, and their entries three." if few else ""
    return out + (f" Some variants were not searched on {names(left)}." if left else "")


def _earlier(data: Data) -> str:
    """Return a sentence on rows of older measurements of which only medians are stored."""
    older = [c for c, f in data.items() if "earlier" in f]
    if not older:
        return ""
    return f" The rows of {names(older)} are {data[older[0]]['earlier']}."


def _rescued(data: Data, rescued: list[str]) -> dict[str, str]:
    found = data[rescued[0]]
    scale, best = best_features(found)
    return {
        "rescued": names(rescued),
        "rescued_scale": f"{found['scale']:g}",
        "rescued_nodes": f"{found['nodes']:,}",
        "rescued_broad": sci(error(found, "broad")),
        "rescued_features": plain(error(found, "features only")),
        "rescued_whiten": plain(error(found, "broad, whiten")),
        "rescued_best_scale": plain(scale),
        "rescued_best": sci(best),
    }


def _parts(data: Data) -> dict[str, str]:
    whiten = ratios(data, "broad, whiten", "broad")
    sparse = {c: error(f, a) / error(f, b) for c, f in data.items() for a, b in (("broad, sparse", "broad"),)}
    every = [
        error(f, a) / error(f, b)
        for f in data.values()
        for a, b in zip(("features, sparse", "broad, sparse", "broad, whiten, sparse"), _PLAIN)
    ]
    return {
        "whiten_gains": with_cases({c: 1 / v for c, v in whiten.items() if v <= 1 / _FACTOR_OF_TEN}),
        "whiten_loses": with_cases({c: v for c, v in whiten.items() if v >= _FACTOR_OF_TEN}),
        "sparse_factors": span(every),
        "sparse_gains": names([c for c, v in sparse.items() if v <= 1 / _FACTOR_OF_TEN]),
        "sparse_loses": names([c for c, v in sparse.items() if v >= _FACTOR_OF_TEN]),
    }


_PLAIN = ("features only", "broad", "broad, whiten")


def _search(data: Data) -> dict[str, str]:
    gain = {c: error(f, "features only") / best_features(f)[1] for c, f in data.items()}
    small = {c: v for c, v in gain.items() if v < _FACTOR_OF_TEN}
    return {
        "search_small": span(small.values()),
        "search_small_cases": f"{word(len(small))} cases",
        "search_large": with_cases({c: v for c, v in gain.items() if c not in small}),
    }


def _waves(data: Data) -> dict[str, str]:
    least = {c: min(best_broad(f), best_features(f)[1], error(f, "features only")) for c, f in data.items()}
    against = {c: error(f, "waves") / least[c] for c, f in data.items()}
    lose = {c: v for c, v in against.items() if v > 1}
    return {
        "waves_share": span(100 * data[c]["waves"]["nodes"] / data[c]["nodes"] for c in PLANE) + " %",
        "waves_gain": span(against[c] for c in PLANE),
        "waves_lose": names(list(lose)),
        "waves_lose_factors": span(lose.values()) + " times",
    }


def text() -> str:
    return filled(template("ablation"), blanks(read()))
