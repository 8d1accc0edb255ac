"""Plots over one coordinate: curves, and curves at several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.plot.backend import matplotlib
from pibls.plot.panels import Panels
from pibls.plot.scene import Scene, unsuited_kind
from pibls.sampling import Section

_DEFAULT_POINTS = 1001
_MAX_POINTS = 20_001
_MAX_LEGEND_ENTRIES = 8  # more curves than these are distinguished by a colour bar


@dataclass(frozen=True)
class Curves:
    """One curve per panel, optionally with a band for the estimated error."""

    scene: Scene

    def __post_init__(self) -> None:
        if self.scene.view.free_count != 1:
            raise unsuited_kind("curve", "one free coordinate", self.scene.view)

    def panels(self) -> Panels:
        return Panels.of(len(self.scene.quantities), [(1.0, 0.7)])

    def draw(self, axes: list[Any]) -> None:
        scene = self.scene
        (section,) = scene.view.lines()
        for ax, quantity in zip(axes, scene.quantities, strict=True):
            x = _abscissae(section, scene)
            y = quantity.values(section, x[:, None])
            (line,) = ax.plot(x, y, linewidth=1.4)
            if scene.band is not None:
                ax.fill_between(x, y - scene.band, y + scene.band, color=line.get_color(), alpha=0.25,
                                linewidth=0, label=f"± estimated error {scene.band:.1e}")  # fmt: skip
                ax.legend(frameon=False, fontsize="small")
            quantity.scale.set_value_axis(ax, y)
            _label_axes(ax, section, scene)
            ax.set_ylabel(quantity.label(scene.labels))
            ax.set_title(scene.title(section), fontsize="medium")


@dataclass(frozen=True)
class Snapshots:
    """Curves in space at several times, in one panel per quantity."""

    scene: Scene

    def __post_init__(self) -> None:
        view = self.scene.view
        if view.time is None or len(view.space) != 1:
            raise unsuited_kind("snapshots", "one free coordinate in space, and time", view)

    def panels(self) -> Panels:
        return Panels.of(len(self.scene.quantities), [(1.0, 0.75)])

    def draw(self, axes: list[Any]) -> None:
        scene = self.scene
        sections = scene.view.snapshots()
        colours = _time_colours()(np.linspace(0, 1, len(sections)))
        for ax, quantity in zip(axes, scene.quantities, strict=True):
            curves = []
            for colour, section in zip(colours, sections, strict=True):
                x = _abscissae(section, scene)
                curves.append(quantity.values(section, x[:, None]))
                ax.plot(x, curves[-1], color=colour, linewidth=1.5, label=scene.title(section))
            quantity.scale.set_value_axis(ax, np.concatenate(curves))
            _label_axes(ax, sections[0], scene)
            ax.set_ylabel(quantity.label(scene.labels))
            if len(sections) <= _MAX_LEGEND_ENTRIES:
                _add_legend(ax)
            else:
                _add_time_bar(ax, scene, sections)


def _add_legend(ax: Any) -> None:
    """Add a legend: beside the axes if a layout engine reserves space, else at the best place inside."""
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    place = beside if ax.get_figure().get_layout_engine() is not None else {"loc": "best"}
    ax.legend(frameon=False, fontsize="small", handlelength=1.4, **place)


def _time_colours() -> Any:
    # Without the end of the map, because its yellow is hardly visible on white.
    viridis = matplotlib("cm").ScalarMappable(cmap="viridis").cmap
    return matplotlib("colors").ListedColormap(viridis(np.linspace(0, 0.88, 256)))


def _add_time_bar(ax: Any, scene: Scene, sections: tuple[Section, ...]) -> None:
    """Add a colour bar for the times of the curves, in place of a legend."""
    time = scene.view.time
    assert time is not None  # checked by Snapshots
    times = [section.fixed[time] for section in sections]
    norm = matplotlib("colors").Normalize(min(times), max(times))
    colours = matplotlib("cm").ScalarMappable(norm, _time_colours())
    bar = ax.get_figure().colorbar(colours, ax=ax, pad=0.02, aspect=24)
    bar.set_label(scene.labels.coordinate(scene.view.domain.coordinates[time]))


def _abscissae(section: Section, scene: Scene) -> Any:
    usual = (
        _DEFAULT_POINTS
        if section.is_space and len(section.domain.coordinates) > 1
        else max(_DEFAULT_POINTS, scene.min_curve_points)
    )
    (x,) = section.axes((scene.resolution or min(usual, _MAX_POINTS),))
    if not section.inside(x[:, None]).any():
        raise section.empty_error()
    return x


def _label_axes(ax: Any, section: Section, scene: Scene) -> None:
    ax.set_xlim(*section.bounds[0])
    ax.set_xlabel(scene.labels.coordinate(section.symbols[0]))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
