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
_DIGIT = 10.0
_RESCUED = 1e3
"""Plain features that are worse than the best broad variant by more than this have failed."""

Data = Mapping[str, Any]


def read() -> Data:
    data: Data = json.loads(ablation.DATA.read_text())
    return {case: data[case] for case in pibls.cases}


def error(found: Data, variant: str) -> float:
    return float(median(found["errors"][variant]))


def best_features(found: Data) -> tuple[float, float]:
    """The scale that serves plain features best, and the error: the one found, or the published one."""
    there, here = error(found, "features, best scale"), error(found, "features only")
    return (found["best"], there) if there < here else (found["scale"], here)


def best_broad(found: Data) -> float:
    return min(error(found, v) for v in BROAD)


def _table(data: Data) -> str:
    rows = []
    for case, found in data.items():
        used = "broad, whiten" if found["whiten"] else "broad"
        cells = [
            f"**{sci(error(found, v), 1)}**" if v == used else sci(error(found, v), 1)
            for v in (*FEATURES, *BROAD)
        ]
        scale, best = best_features(found)
        waves = f"{sci(error(found, 'waves'), 1)} (N = {found['waves']['nodes']})"
        rows.append(
            [case, f"{found['nodes']}", f"{found['scale']:g}", *cells,
             f"{sci(best, 1)} (R = {plain(scale)})", waves]
        )  # fmt: skip
    return table(["case", "nodes", "R", *FEATURES, *BROAD, "features, best scale", "waves"], rows)


def ratios(data: Data, above: str, below: str) -> dict[str, float]:
    return {case: error(found, above) / error(found, below) for case, found in data.items()}


def blanks(data: Data) -> dict[str, str]:
    against = {c: error(f, "features only") / best_broad(f) for c, f in data.items()}
    rescued = [c for c, v in against.items() if v > _RESCUED]
    near = {c: v for c, v in against.items() if c not in rescued and v > 1 / _DIGIT}
    return {
        "seeds": word(len(ablation.SEEDS)),
        "earlier": _earlier(data),
        "table": _table(data),
        "near": span(near.values()),
        "near_count": word(len(near)),
        "features_win": with_cases({c: v for c, v in against.items() if v <= 1 / _DIGIT}),
        **_rescued(data, rescued),
        **_parts(data),
        **_search(data),
        **_waves(data),
    }


def _earlier(data: Data) -> str:
    """Which rows are an older measurement of which only the medians were kept."""
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
        "whiten_gains": with_cases({c: 1 / v for c, v in whiten.items() if v <= 1 / _DIGIT}),
        "whiten_loses": with_cases({c: v for c, v in whiten.items() if v >= _DIGIT}),
        "sparse_factors": span(every),
        "sparse_gains": names([c for c, v in sparse.items() if v <= 1 / _DIGIT]),
        "sparse_loses": names([c for c, v in sparse.items() if v >= _DIGIT]),
    }


_PLAIN = ("features only", "broad", "broad, whiten")


def _search(data: Data) -> dict[str, str]:
    gain = {c: error(f, "features only") / best_features(f)[1] for c, f in data.items()}
    small = {c: v for c, v in gain.items() if v < _DIGIT}
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
