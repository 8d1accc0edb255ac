"""Plots over one coordinate: curves, and curves at several times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.arrays import Array
from pibls.plot.backend import figure_of, matplotlib
from pibls.plot.panels import Panels
from pibls.plot.scene import Scene, unsuited_kind
from pibls.runtime.caching import cached_property
from pibls.sampling import Section

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

_DEFAULT_POINTS = 1001
_MAX_POINTS = 20_001
_MAX_LEGEND_ENTRIES = 8  # more curves than these are distinguished by a colour bar, or have a panel each
_MAX_LABEL_LENGTH = 24  # letters of all symbols in the label of an axis
_MIN_SHARE = 0.1  # part of a common value axis that each curve must cover
_MAX_CONSTANT_RANGE = 1e-4  # range relative to the size below which a curve is a constant


@dataclass(frozen=True)
class Curves:
    """One curve per panel, or curves of comparable size in one; a band may show the estimated error."""

    scene: Scene

    def __post_init__(self) -> None:
        if self.scene.view.free_count != 1:
            raise unsuited_kind("curve", "one free coordinate", self.scene.view)

    def panels(self) -> Panels:
        return Panels.of(1 if self._shares_panel else len(self.scene.quantities), [(1.0, 0.7)])

    def draw(self, axes: list[Axes]) -> None:
        scene = self.scene
        if self._shares_panel:
            self._draw_joint(axes[0])
            return
        for ax, quantity, y in zip(axes, scene.quantities, self._values, strict=True):
            line = self._draw_curve(ax, y)
            if scene.band is not None:
                line.set_label("_")
                ax.legend(frameon=False, fontsize="small")
            quantity.scale.set_value_axis(ax, y)
            ax.set_ylabel(quantity.label(scene.labels))

    @property
    def _section(self) -> Section:
        (section,) = self.scene.view.lines()
        return section

    @cached_property
    def _abscissae(self) -> Array:
        return np.asarray(_abscissae(self._section, self.scene))

    @cached_property
    def _values(self) -> list[Array]:
        points = self._abscissae[:, None]
        return [quantity.values(self._section, points) for quantity in self.scene.quantities]

    @cached_property
    def _shares_panel(self) -> bool:
        """Whether all curves are drawn in one panel: few of them, with one unit and comparable sizes."""
        scene = self.scene
        if not scene.is_joint or not 1 < len(scene.quantities) <= _MAX_LEGEND_ENTRIES:
            return False
        units = {scene.labels.unit(quantity.unit) for quantity in scene.quantities}
        return len(units) == 1 and are_comparable(self._values)

    def _draw_joint(self, ax: Axes) -> None:
        scene = self.scene
        quantities = scene.quantities
        symbols = [quantity.symbol(scene.labels) for quantity in quantities]
        for symbol, y in zip(symbols, self._values, strict=True):
            self._draw_curve(ax, y).set_label(symbol)
        quantities[0].scale.set_value_axis(ax, np.concatenate(self._values))
        listed = symbols if sum(len(q.field.name) for q in quantities) <= _MAX_LABEL_LENGTH else ()
        if listed or scene.labels.unit(quantities[0].unit):
            ax.set_ylabel(scene.labels.quantities(listed or ("value",), quantities[0].unit))
        # Above the axes, because there is no title and a legend beside them would take from their width.
        above: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 4}
        has_layout = figure_of(ax).get_layout_engine() is not None
        ax.legend(frameon=False, fontsize="medium", **(above if has_layout else {"loc": "best"}))

    def _draw_curve(self, ax: Axes, y: Array) -> Artist:
        x, scene = self._abscissae, self.scene
        (line,) = ax.plot(x, y)
        if scene.band is not None:
            band = ax.fill_between(
                x, y - scene.band, y + scene.band, color=line.get_color(), alpha=0.25, linewidth=0
            )
            if y is self._values[-1] or not self._shares_panel:
                band.set_label(f"± estimated error {scene.band:.1e}")
        _label_axes(ax, self._section, scene)
        ax.set_title(scene.title(self._section), fontsize="medium")
        return line


def are_comparable(curves: Sequence[Array]) -> bool:
    """Return whether each curve can be read on a value axis common to all.

    A curve that varies must cover at least a tenth of the axis. A constant must be zero, or its
    distance from zero a tenth of the axis.

    >>> s = np.linspace(0.0, 1.0, 5)
    >>> are_comparable([s, 3 * s, 0 * s]), are_comparable([s, 20 * s]), are_comparable([s, s + 50])
    (True, False, False)
    """
    finite = [y[np.isfinite(y)] for y in curves]
    if not all(len(y) for y in finite):
        return False
    total = float(np.ptp(np.concatenate(finite)))
    for y in finite:
        size, extent = float(np.abs(y).max()), float(np.ptp(y))
        shown = extent if extent > _MAX_CONSTANT_RANGE * size else size
        if 0.0 < shown < _MIN_SHARE * total:
            return False
    return True


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

    def draw(self, axes: list[Axes]) -> None:
        scene = self.scene
        sections = scene.view.snapshots()
        colours = _time_colours()(np.linspace(0, 1, len(sections)))
        for ax, quantity in zip(axes, scene.quantities, strict=True):
            curves = []
            for colour, section in zip(colours, sections, strict=True):
                x = _abscissae(section, scene)
                curves.append(quantity.values(section, x[:, None]))
                ax.plot(x, curves[-1], color=colour, label=scene.title(section))
            quantity.scale.set_value_axis(ax, np.concatenate(curves))
            _label_axes(ax, sections[0], scene)
            ax.set_ylabel(quantity.label(scene.labels))
            if len(sections) <= _MAX_LEGEND_ENTRIES:
                _add_legend(ax)
            else:
                _add_time_bar(ax, scene, sections)


def _add_legend(ax: Axes) -> None:
    """Add a legend: beside the axes if a layout engine reserves space, else at the best place inside."""
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    place = beside if figure_of(ax).get_layout_engine() is not None else {"loc": "best"}
    ax.legend(frameon=False, fontsize="small", handlelength=1.4, **place)


def _time_colours() -> Colormap:
    # Without the end of the map, because its yellow is hardly visible on white.
    viridis = matplotlib("cm").ScalarMappable(cmap="viridis").cmap
    colours: Colormap = matplotlib("colors").ListedColormap(viridis(np.linspace(0, 0.88, 256)))
    return colours


def _add_time_bar(ax: Axes, scene: Scene, sections: tuple[Section, ...]) -> None:
    """Add a colour bar for the times of the curves, in place of a legend."""
    time = scene.view.time
    assert time is not None  # checked by Snapshots
    times = [section.fixed[time] for section in sections]
    norm = matplotlib("colors").Normalize(min(times), max(times))
    colours = matplotlib("cm").ScalarMappable(norm, _time_colours())
    bar = figure_of(ax).colorbar(colours, ax=ax, pad=0.02, aspect=24)
    bar.set_label(scene.labels.coordinate(scene.view.domain.coordinates[time]))


def _abscissae(section: Section, scene: Scene) -> Array:
    usual = (
        _DEFAULT_POINTS
        if section.is_space and len(section.domain.coordinates) > 1
        else max(_DEFAULT_POINTS, scene.min_curve_points)
    )
    (x,) = section.axes((scene.resolution or min(usual, _MAX_POINTS),))
    if not section.inside(x[:, None]).any():
        raise section.empty_error()
    return x


def _label_axes(ax: Axes, section: Section, scene: Scene) -> None:
    ax.set_xlim(*section.bounds[0])
    ax.set_xlabel(scene.labels.coordinate(section.symbols[0]))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
