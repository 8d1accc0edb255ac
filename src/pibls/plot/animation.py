"""Animations of solutions in time, written as GIF or video files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError, import_optional, output_path
from pibls.expressions import Expression
from pibls.plot.backend import matplotlib
from pibls.plot.drawing import quantities_of, scene_of
from pibls.plot.panels import add_axes, file_figure
from pibls.plot.plot_kinds import plot_kind
from pibls.plot.scene import PlotKind, Quantity, Scene
from pibls.plot.style_sheet import styled
from pibls.solution import Solution

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

_FRAME_RESOLUTION = 101  # points along the longer side of a map, fewer than in a still plot
_MIN_WHITE = 245  # channel value from which a palette colour is replaced by white
_LIMIT_TIMES = 25  # number of times from which the colour limits are computed


@styled
def animate(
    solution: Solution,
    path: str | Path,
    *what: Expression,
    frames: int = 60,
    fps: float = 20.0,
    dpi: int = 110,
    kind: str | None = None,
    vector: tuple[Expression, Expression] | None = None,
    **options: Any,
) -> Path:
    """Write an animation of the solution in time; see `Solution.animate`."""
    path = output_path(path, "solution.animate(path)")
    writer = _writer(path, fps)
    if isinstance(frames, bool) or not isinstance(frames, SupportsIndex) or frames < 2:
        raise ProblemError(
            "frames", expected="a whole number of at least 2", got=repr(frames), remedy="Write frames=60."
        )
    scene = scene_of(solution, *quantities_of(solution, what, vector), **options)
    if scene.view.time is None:
        raise ProblemError(
            "animate",
            expected="a problem with time as a free coordinate",
            got=repr(solution.problem.domain),
            remedy="Add time with domain.during(t, t0, t1), or use plot() for a single plot.",
        )
    scene = replace(scene, quantities=tuple(_with_fixed_limits(q, scene) for q in scene.quantities))
    times = scene.view.sample_times(int(frames))
    if scene.resolution is None and scene.view.free_count > 2:
        scene = replace(scene, resolution=_FRAME_RESOLUTION)
    panels = _plot_at(scene, times[0], kind).panels()
    figure = file_figure(panels)
    axes = add_axes(figure, panels)
    _plot_at(scene, times[0], kind).draw(axes)
    # The layout and the colour bars are computed for the first frame only, so that nothing else moves.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    scene = replace(scene, colorbar=False)
    with writer.saving(figure, str(path), dpi):
        for t in times:
            for ax in axes:
                ax.clear()
            _plot_at(scene, t, kind).draw(axes)
            writer.grab_frame()
    return path


def _plot_at(scene: Scene, t: float, kind: str | None) -> PlotKind:
    return plot_kind(replace(scene, view=scene.view.at_time(float(t))), kind)


def _with_fixed_limits(quantity: Quantity, scene: Scene) -> Quantity:
    """Return the quantity with colour limits that are fixed for all times."""
    values = []
    for t in scene.view.sample_times(_LIMIT_TIMES):
        now = scene.view.at_time(float(t))
        for section in now.lines() if now.free_count == 1 else now.planes():
            sides = section.axes((401,) if now.free_count == 1 else (41, 41))
            P = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, len(sides))
            values.append(quantity.values(section, P))
    together = np.concatenate(values)
    scale = quantity.scale.suitable_for(together) if scene.view.free_count > 2 else quantity.scale
    return replace(quantity, scale=replace(scale, is_fixed=True, fixed_limits=scale.limits(together)))


class _GifWriter:
    """Writer of GIF files with one palette for all frames, which avoids flicker."""

    def __init__(self, fps: float) -> None:
        self.milliseconds = round(1000 / fps)
        self.image = import_optional("PIL.Image", extra="plot", purpose="A .gif")

    @contextmanager
    def saving(self, figure: Figure, path: str, dpi: int) -> Iterator[None]:
        figure.set_dpi(dpi)
        self.figure, self.frames = figure, list[Array]()
        yield
        some = [self.frames[0], self.frames[len(self.frames) // 2], self.frames[-1]]
        sheet = self.image.fromarray(np.concatenate(some))
        palette = sheet.quantize(256)
        colours = np.array(palette.getpalette()).reshape(-1, 3)
        colours[colours.min(axis=1) >= _MIN_WHITE] = 255  # make the background exactly white
        palette.putpalette(colours.ravel().tolist())
        first, *others = (
            self.image.fromarray(f).quantize(palette=palette, dither=self.image.Dither.NONE)
            for f in self.frames
        )
        first.save(path, save_all=True, append_images=others, duration=self.milliseconds, loop=0)

    def grab_frame(self) -> None:
        canvas: FigureCanvasAgg = cast("FigureCanvasAgg", self.figure.canvas)
        canvas.draw()
        self.frames.append(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def _video_writer(fps: float) -> Any:
    animation = matplotlib("animation")
    if not animation.FFMpegWriter.isAvailable():
        raise ProblemError(
            "path",
            expected="a .gif, since no ffmpeg was found to write videos",
            got="a video",
            remedy="Install ffmpeg, or write a .gif.",
        )
    return animation.FFMpegWriter(fps=fps)


_WRITERS: Mapping[str, Callable[[float], Any]] = {
    ".gif": _GifWriter,
    ".mp4": _video_writer,
    ".mov": _video_writer,
    ".webm": _video_writer,
}


def _writer(path: Path, fps: float) -> Any:
    if path.suffix.lower() not in _WRITERS:
        raise ProblemError(
            "path",
            expected=f"a file that ends in {', '.join(_WRITERS)}",
            got=repr(path.name),
            remedy="Write solution.gif.",
        )
    return _WRITERS[path.suffix.lower()](fps)
