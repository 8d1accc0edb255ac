"""docs/sensitivity.md, from docs/data/sensitivity.json and docs/benchmarks/scaling.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import scaling, sensitivity
from benchmarks.pages.text import filled, names, plain, sci, template
from benchmarks.sensitivity import curve, median

NEAR = 10.0
_FITTED = 0.3
"""Fraction of the published widths and numbers of points above which exponents are fitted."""

Data = Mapping[str, Any]


def read() -> Data:
    data: Data = json.loads(sensitivity.DATA.read_text())
    return data


def medians(found: Data, parameter: str, key: str, sweeps: str = "sweeps") -> dict[float, float]:
    values, runs = curve(found, parameter, sweeps)
    return {v: median(step)[key] for v, step in zip(values, runs)}


def at(values: Mapping[float, float], where: float) -> float:
    return values[min(values, key=lambda v: abs(v - where))]


def enough(errors: Mapping[float, float]) -> float:
    """Return the value from which on all errors are within a factor NEAR of the smallest."""
    least = min(errors.values())
    good = [v for v, e in sorted(errors.items()) if e <= NEAR * least]
    bad = [v for v, e in errors.items() if e > NEAR * least]
    return min(v for v in good if v > max([b for b in bad if b < max(good)], default=0.0))


def between(errors: Mapping[float, float]) -> str:
    """Return the range of values around the best one with an error within a factor NEAR, as text."""
    order = sorted(errors)
    best = min(errors, key=lambda v: errors[v])
    low = high = order.index(best)
    while low > 0 and errors[order[low - 1]] <= NEAR * errors[best]:
        low -= 1
    while high < len(order) - 1 and errors[order[high + 1]] <= NEAR * errors[best]:
        high += 1
    if low == high:
        return f"at R = {order[low]:g} only"
    return f"for R from {order[low]:g} to {order[high]:g}"


def exponent(seconds: Mapping[float, float], least: float) -> tuple[float, float, float]:
    """Return p of seconds ~ N^p for N ≥ ``least``, and the fitted range."""
    keep = sorted(v for v in seconds if v >= least)
    p = float(np.polyfit(np.log(keep), np.log([seconds[v] for v in keep]), 1)[0])
    return p, keep[0], keep[-1]


def counts(found: Data, sweeps: str) -> str:
    """Return the number of seeds, or its range, as text."""
    each = sorted({len(runs) for p in found[sweeps].values() for runs in p.values()})
    return f"{each[0]}" if len(each) == 1 else f"{each[0]} to {each[-1]}"


def _missing(found: Data) -> str:
    """Return a sentence on values without runs of Algorithm 2."""
    wanted = sensitivity.VALUES["TC-9"]
    absent = {
        p: [f"{v:g}" for v in values if f"{v:g}" not in found["sweeps"].get(p, {})]
        for p, values in wanted.items()
    }
    texts = [f"{p} {names(values)}" for p, values in absent.items() if values]
    return f" Not run by Algorithm 2: {'; '.join(texts)}." if texts else ""


def _case(found: Data, tag: str) -> dict[str, str]:
    """Return the blanks that both cases have."""
    published, auto = found["published"], median(found["automatic"])
    nodes, seconds = medians(found, "nodes", "max"), medians(found, "nodes", "seconds")
    points, scale = medians(found, "points", "max"), medians(found, "scale", "max")
    # The number of steps of Algorithm 2 varies, which matters less over the whole range.
    least = 0.0 if "gauss-newton" in found else _FITTED * published["nodes"]
    p, low, high = exponent(seconds, least)
    return {
        f"nodes_{tag}_last": sci(nodes[max(nodes)]),
        f"nodes_{tag}_last_at": f"{max(nodes):,.0f}",
        f"points_{tag}": f"{enough(points):,.0f}",
        f"range_{tag}": between(scale),
        f"high_{tag}": f"{max(scale):g}",
        f"high_{tag}_error": sci(scale[max(scale)]),
        f"fit_{tag}_from": f"{low:,.0f}",
        f"fit_{tag}_to": f"{high:,.0f}",
        f"exponent_{tag}": f"{p:.1f}",
        f"auto_{tag}": sci(auto["max"]),
        f"auto_{tag}_nodes": f"{auto['nodes']:.0f}",
        f"auto_{tag}_points": f"{auto['points']:.0f}",
        f"auto_{tag}_seconds": plain(auto["seconds"]),
        f"auto_{tag}_scale": f"{auto['scale']:.3g}",
    }


def blanks(data: Data, widths: Sequence[Any]) -> dict[str, str]:
    one, nine = data["TC-1"], data["TC-9"]
    nodes_1, nodes_9 = medians(one, "nodes", "max"), medians(nine, "nodes", "max")
    best = min(nodes_1, key=lambda v: nodes_1[v])
    scale = medians(nine, "scale", "max")
    where = nine["published"]["nodes"]

    def there(key: str, sweeps: str) -> float:
        return at(medians(nine, "nodes", key, sweeps), where)

    return {
        "seeds_1": counts(one, "sweeps"),
        "seeds_9": counts(nine, "sweeps"),
        "seeds_gauss": counts(nine, "gauss-newton"),
        "missing": _missing(nine),
        "near": plain(NEAR),
        **_case(one, "1"),
        **_case(nine, "9"),
        "nodes_1_best": sci(nodes_1[best]),
        "nodes_1_at": f"{best:,.0f}",
        "nodes_9_published": sci(at(nodes_9, where)),
        "nodes_9_at": f"{where:,}",
        "low_9": f"{min(scale):g}",
        "low_9_error": sci(scale[min(scale)]),
        "algorithm_2": sci(there("max", "sweeps")),
        "gauss_newton": sci(there("max", "gauss-newton")),
        "paper_9": sci(nine["published"]["max"]),
        "algorithm_2_seconds": plain(there("seconds", "sweeps")),
        "gauss_newton_seconds": plain(there("seconds", "gauss-newton")),
        **_gauss(nine),
        "points_exponent_1": _points_exponent(one, "sweeps"),
        **_scaling(widths),
    }


def _gauss(found: Data) -> dict[str, str]:
    """Return the blanks of Gauss-Newton, whose number of steps is nearly constant."""
    seconds = medians(found, "nodes", "seconds", "gauss-newton")
    p, low, _ = exponent(seconds, _FITTED * found["published"]["nodes"])
    both = medians(found, "scale", "max")
    other = medians(found, "scale", "max", "gauss-newton")
    apart = max(both, key=lambda v: both[v] / other[v])
    return {
        "apart_scale": f"{apart:g}",
        "apart_2": sci(both[apart]),
        "apart_seconds": plain(medians(found, "scale", "seconds")[apart]),
        "apart_gauss": sci(other[apart]),
        "exponent_gauss": f"{p:.1f}",
        "fit_gauss_from": f"{low:,.0f}",
        "points_exponent_gauss": _points_exponent(found, "gauss-newton"),
    }


def _points_exponent(found: Data, sweeps: str) -> str:
    seconds = medians(found, "points", "seconds", sweeps)
    return f"{exponent(seconds, _FITTED * found['published']['points'])[0]:.1f}"


def _scaling(runs: Sequence[Any]) -> dict[str, str]:
    most = max(r["nodes"] for r in scaling.pick(runs, "width"))
    return {
        "scaling_most": f"{most:,}",
        "scaling_exponent": f"{scaling.exponents(runs)['time of width']:.2f}",
    }


def text() -> str:
    return filled(template("sensitivity"), blanks(read(), scaling.stored()))
