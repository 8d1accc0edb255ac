"""Figures of the report: error against seconds, and u, u*, |u - u*| of the eleven cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pibls
from benchmarks import fields
from benchmarks.report_tables import Summary
from benchmarks.sensitivity import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, paper_style
from pibls.arrays import Array

SKY = "#56B4E9"
# Colour marks the family, the marker its member: systems can be distinguished without colour.
LOOKS = {
    "pinn1": (PURPLE, "v"),
    "pinn2": (PURPLE, "^"),
    "pielm": (ORANGE, "o"),
    "pielm-best": (ORANGE, "s"),
    "locelm": (ORANGE, "D"),
    "fenics-p1": (SKY, "v"),
    "fenics-p2": (SKY, "^"),
    "newmark": (GREY, "P"),
    "solve-bvp": (GREY, "X"),
    "ngsolve": (BLUE, "<"),
    "scikit-fem": (BLUE, ">"),
    "tfc": (GREEN, "o"),
    "pyrfm": (GREEN, "s"),
    "pypielm": (GREEN, "D"),
    "pibls-published": (RED, "h"),
    "pibls": (RED, "*"),
}
OTHER = ("#000000", ".")
_SIZES = {"*": 11.0, "h": 7.5, "D": 5.2, "s": 5.6, "P": 7.0, "X": 7.0}
_LEAST = 1e-17
"""Value at which an error of zero is drawn."""
_DECADES = 3
"""Number of decades below the largest error in the colour map."""


def work_precision(
    found: Sequence[Summary], cases: Sequence[str], titles: Mapping[str, str], path: Path
) -> None:
    """Draw one panel per case, with one marker per setting at its medians over the seeds."""
    plt = paper_style()
    columns = 3 if len(cases) == 3 else 2
    rows = -(-len(cases) // columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(11.6, 0.5 + 3.5 * rows), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    shown: set[str] = set()
    for i, (case, ax) in enumerate(zip(cases, panels.flat)):
        shown |= _panel(ax, [s for s in found if s.case == case and s.finished and np.isfinite(s.max_error)])
        ax.set_title(f"({chr(97 + i)})  {case}: {pibls.cases[case].title}", loc="left")
        ax.label_outer()
    for ax in panels.flat[len(cases) :]:
        ax.remove()
    _extent(panels[0, 0], [s for s in found if s.case in cases and s.finished])
    figure.supxlabel("seconds, compilation not included", fontsize=9)
    figure.supylabel("maximum error on the held-out points", fontsize=9)
    capped = any(s.capped for s in found if s.case in cases)
    _legend(figure, [s for s in [*LOOKS, *sorted(shown - set(LOOKS))] if s in shown], titles, capped)
    _save(plt, figure, path)


def _extent(ax: Any, found: Sequence[Summary]) -> None:
    """Set the axis limits: at least from rounding to 1 and from 0.01 s to 10 s, and all results."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    e = [_drawn(s) for s in found if np.isfinite(s.max_error)]
    t = [s.seconds for s in found if np.isfinite(s.seconds)]
    ax.set(
        xlim=(0.5 * min([0.02, *t]), 2.0 * max([5.0, *t])), ylim=(0.3 * min([3e-16, *e]), 3 * max([0.3, *e]))
    )
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(base=1000.0, numticks=12))
    ax.yaxis.set_minor_locator(LogLocator(base=10.0, numticks=40))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _panel(ax: Any, found: Sequence[Summary]) -> set[str]:
    ax.set(xscale="log", yscale="log")
    if not found:
        ax.text(0.5, 0.5, "not run", transform=ax.transAxes, ha="center", va="center", color=GREY)
    systems = dict.fromkeys(s.system for s in found)
    for system in systems:
        colour, marker = LOOKS.get(system, OTHER)
        mine = sorted((s for s in found if s.system == system), key=lambda s: s.seconds)
        ax.plot([s.seconds for s in mine], [_drawn(s) for s in mine], color=colour, linewidth=0.9, alpha=0.55)
        for s in mine:
            ax.plot(
                s.seconds, _drawn(s), marker, zorder=4 if s.table else 3,
                markersize=_SIZES.get(marker, 6.2),
                markerfacecolor="white" if s.capped else colour,
                markeredgecolor="black" if s.table and not s.capped else colour,
                markeredgewidth=1.4 if s.capped else 0.9 if s.table else 0.0,
            )  # fmt: skip
    return set(systems)


def _drawn(s: Summary) -> float:
    return max(s.max_error, _LEAST)


def _legend(figure: Any, systems: Sequence[str], titles: Mapping[str, str], capped: bool) -> None:
    from matplotlib.lines import Line2D

    def entry(marker: str, face: str, edge: str, label: str) -> Any:
        return Line2D(
            [], [], linestyle="", marker=marker, markersize=_SIZES.get(marker, 6.2),
            markerfacecolor=face, markeredgecolor=edge, markeredgewidth=0.9, label=label,
        )  # fmt: skip

    entries = []
    for system in systems:
        colour, marker = LOOKS.get(system, OTHER)
        entries.append(entry(marker, colour, colour, titles.get(system, system)))
    entries.append(entry("o", "#bbbbbb", "black", "black edge: in the table"))
    if capped:
        entries.append(entry("o", "white", "#888888", "hollow: ended by its time cap"))
    figure.legend(handles=entries, loc="outside right upper", labelspacing=0.75, handletextpad=0.4)


def curves(cases: Sequence[str], path: Path, folder: Path = fields.FIELDS) -> bool:
    """Draw cases with one coordinate: u and u* above, |u - u*| below; return False without stored arrays."""
    stored = _stored(cases, folder)
    if not stored:
        return False
    plt = paper_style()
    figure, panels = plt.subplots(
        2, len(stored), figsize=(11.6, 5.4), squeeze=False, sharex="col", layout="constrained"
    )
    for i, (name, found) in enumerate(stored.items()):
        case, s = pibls.cases[name], found["axis0"]
        fine = np.linspace(s[0], s[-1], 2001)
        above, below = panels[0, i], panels[1, i]
        above.plot(fine, case.exact(fine), color=RED, linewidth=1.5, label="exact")
        above.plot(s, found["automatic"], color=BLUE, linestyle=(0, (4, 3)), linewidth=1.5, label="pibls")
        above.set_title(f"({chr(97 + i)})  {name}: {case.title}", loc="left")
        for key, colour, label in (
            ("published_error", ORANGE, "published settings"),
            ("automatic_error", BLUE, "no settings, tol = 1e-13"),
        ):
            e = np.abs(found[key])
            # Points, since rounding errors at neighbouring points are unrelated.
            below.semilogy(s[e > 0], e[e > 0], ".", color=colour, markersize=2.6, label=label)
        below.set(xlabel=f"${case.problem.coordinates[0]}$")
        below.set_title(f"({chr(97 + len(stored) + i)})", loc="left")
        _headroom(below)
    # One legend per row: the colours are the same in all panels.
    panels[0, 0].set_ylabel("$u$")
    panels[1, 0].set_ylabel("$|u - u^*|$")
    panels[0, -1].legend(loc="best")
    panels[1, -1].legend(loc="upper right", markerscale=3)
    figure.align_ylabels(panels[:, 0])
    _save(plt, figure, path)
    return True


def _headroom(ax: Any) -> None:
    """Add space for a legend above the curves."""
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.25)


def maps(cases: Sequence[str], path: Path, folder: Path = fields.FIELDS) -> bool:
    """Draw cases with two coordinates: u, u* and both |u - u*|; return False without stored arrays."""
    stored = _stored(cases, folder)
    if not stored:
        return False
    plt = paper_style()
    from matplotlib.colors import LogNorm, Normalize

    figure, panels = plt.subplots(
        len(stored), 4, figsize=(12.0, 2.75 * len(stored)), squeeze=False, sharey="row", layout="constrained"
    )
    for (name, found), row in zip(stored.items(), panels):
        case = pibls.cases[name]
        exact = case.exact(*np.meshgrid(found["axis0"], found["axis1"], indexing="ij"))
        span = Normalize(float(exact.min()), float(exact.max()))
        _map(row[0], found, found["automatic"], "viridis", span)
        _bar(figure, row[:2], _map(row[1], found, exact, "viridis", span))
        for ax, key in zip(row[2:], ("automatic_error", "published_error")):
            e = np.abs(found[key])
            largest = max(float(e.max()), _LEAST)
            least = largest * 10.0**-_DECADES
            drawn = _map(ax, found, np.maximum(e, least), "magma", LogNorm(least, largest))
            _bar(figure, ax, drawn, extend="min")
            ax.text(1.0, -0.145, f"max {largest:.1e}", transform=ax.transAxes, ha="right", va="top", size=8)
        across, up = case.problem.coordinates
        for ax in row:
            ax.set_xlabel(f"${across}$")
            ax.locator_params(nbins=5)
            if up.name != "t":
                ax.set_aspect("equal")
        row[0].set_ylabel(f"{name}: {case.title.replace(', 1D + time', '')}\n\n${up}$")
    for i, ax in enumerate(panels.flat):
        words = ("pibls, no settings", "exact", "|error|, no settings", "|error|, published settings")[i % 4]
        ax.set_title(f"({chr(97 + i)})  {words}", loc="left")
    figure.align_ylabels(panels[:, 0])
    _save(plt, figure, path)
    return True


def surfaces(cases: Sequence[str], path: Path, folder: Path = fields.FIELDS) -> bool:
    """Draw cases with two coordinates as surfaces, u above u*; return False without stored arrays."""
    stored = _stored(cases, folder)
    if not stored:
        return False
    plt = paper_style()
    figure, panels = plt.subplots(
        2, len(stored), figsize=(4.1 * len(stored), 6.6), squeeze=False, subplot_kw={"projection": "3d"},
        layout="constrained",
    )  # fmt: skip
    for i, (name, found) in enumerate(stored.items()):
        case = pibls.cases[name]
        A, B = np.meshgrid(found["axis0"], found["axis1"], indexing="ij")
        exact = case.exact(A, B)
        for row, (values, words) in enumerate(((found["automatic"], "pibls, no settings"), (exact, "exact"))):
            ax = panels[row, i]
            ax.plot_surface(
                A, B, values, cmap="viridis", vmin=float(exact.min()), vmax=float(exact.max()),
                rstride=1, cstride=1, linewidth=0, antialiased=False, rasterized=True,
            )  # fmt: skip
            across, up = case.problem.coordinates
            ax.set(xlabel=f"${across}$", ylabel=f"${up}$", zlabel="$u$")
            ax.view_init(elev=28, azim=-58)
            ax.locator_params(nbins=5)
            ax.set_box_aspect(None, zoom=1.08)
            letter = chr(97 + row * len(stored) + i)
            ax.set_title(f"({letter})  {name}, {words}", loc="left", pad=0)
    _save(plt, figure, path)
    return True


def _map(ax: Any, found: Mapping[str, Array], values: Array, colours: str, norm: Any) -> Any:
    # Only the solution is interpolated: rounding errors vary from point to point.
    smooth = "gouraud" if colours == "viridis" else "nearest"
    drawn = ax.pcolormesh(
        found["axis0"], found["axis1"], values.T, cmap=colours, shading=smooth, norm=norm, rasterized=True
    )
    ax.grid(False)
    ax.set(xlim=found["axis0"][[0, -1]], ylim=found["axis1"][[0, -1]])
    return drawn


def _bar(figure: Any, axes: Any, drawn: Any, *, extend: str = "neither") -> None:
    bar = figure.colorbar(drawn, ax=axes, fraction=0.05, pad=0.02, aspect=18, extend=extend)
    bar.outline.set_linewidth(0.5)
    bar.minorticks_off()


def _stored(cases: Sequence[str], folder: Path) -> dict[str, dict[str, Array]]:
    found = {name: fields.read(name, folder) for name in cases}
    return {name: arrays for name, arrays in found.items() if arrays is not None}


def _save(plt: Any, figure: Any, path: Path) -> None:
    """Save without date and version, so that the same data give the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.get_layout_engine().set(w_pad=0.07, h_pad=0.07)
    figure.savefig(path, dpi=150, metadata={"Software": None}, pil_kwargs={"optimize": True})
    plt.close(figure)
