"""docs/theory.md, from docs/data/embedding.json and docs/data/convergence.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks import convergence, embedding
from benchmarks.pages.text import filled, plain, sci, span, template

Data = Mapping[str, Any]
LARGE = 32


def blanks(data: Data, rates: Data) -> dict[str, str]:
    nodes = data["nodes"]
    maps = {name: np.array(found["runs"]) for name, found in data["maps"].items()}
    many = np.concatenate([runs[nodes.index(LARGE) :].ravel() for runs in maps.values()])
    enough = [
        runs[i].min()
        for name, runs in maps.items()
        if name.startswith("tanh")
        for i, n in enumerate(nodes)
        if n >= int(name[-1])
    ]
    return {
        "draws": f"{data['seeds']}",
        "scale": plain(data["scale"]),
        "large": f"{LARGE}",
        "large_draws": f"{many.size // 2}",
        "least": plain(float(many.min())),
        "tiny": sci(float(min(enough))),
        "most": f"{nodes[-1]}",
        "tanh_share": _share(data, maps, "tanh"),
        "sin_share": _share(data, maps, "sin"),
        **_rates(rates),
    }


def _share(data: Data, maps: Mapping[str, Any], activation: str) -> str:
    """Return the immersion constant at the largest width relative to √λ, over the dimensions."""
    shares = [
        100 * float(np.median(runs[-1, :, 0])) / data["maps"][name]["population"]
        for name, runs in maps.items()
        if name.startswith(activation)
    ]
    return f"{span(shares)} %"


def _rates(data: Data) -> dict[str, str]:
    found = data["rough"]
    rate = {
        family: convergence.fitted_rate(found["widths"], np.median(np.array(runs), axis=1)[:, 0])
        for family, runs in found["errors"].items()
    }
    return {"fixed": f"{rate['broad']:.2f}", "growing": f"{rate['growing']:.2f}"}


def text() -> str:
    data = json.loads(embedding.DATA.read_text())
    return filled(template("theory"), blanks(data, json.loads(convergence.DATA.read_text())))
