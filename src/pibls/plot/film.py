"""A picture for every moment, as a film."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pibls.errors import ProblemError, need, target
from pibls.plot.backend import matplotlib
from pibls.plot.canvas import add_axes, figure_of
from pibls.plot.choose import picture_of
from pibls.plot.scene import Picture, Quantity, Scene
from pibls.plot.show import quantities_of, scene_of
from pibls.solution import Solution

_FILMED = 101  # points along the longer side of a map; a moving one is looked at less closely
_PAPER = 245  # what is that light is meant to be white
_PROBED = 25  # times at which the limits of the colours are found


def animate(
    solution: Solution,
    path: str | Path,
    *what: Any,
    frames: int = 60,
    fps: float = 20.0,
    dpi: int = 110,
    kind: str | None = None,
    vector: tuple[Any, Any] | None = None,
    **options: Any,
) -> Path:
    """Write a film of the solution in time: .gif, or .mp4, .mov, .webm where ffmpeg is installed.

    `Solution.animate` says more.
    """
    path = target(path, "solution.animate(path)")
    writer = _writer(path, fps)
    if isinstance(frames, bool) or not hasattr(frames, "__index__") or frames < 2:
        raise ProblemError(
            "frames", expected="a whole number of at least 2", got=repr(frames), remedy="Write frames=60."
        )
    scene = scene_of(solution, *quantities_of(solution, what, vector), **options)
    if scene.view.time is None:
        raise ProblemError(
            "animate",
            expected="a problem with time that is left free",
            got=repr(solution.problem.domain),
            remedy="Add time with domain.during(t, t0, t1), or draw one picture with plot().",
        )
    scene = replace(scene, quantities=tuple(_held(q, scene) for q in scene.quantities))
    moments = scene.view.moments(int(frames))
    if scene.resolution is None and scene.view.free > 2:
        scene = replace(scene, resolution=_FILMED)
    panels = _at(scene, moments[0], kind).panels()
    figure = figure_of(panels)
    axes = add_axes(figure, panels)
    _at(scene, moments[0], kind).draw(axes)
    # Laid out once: the colour bars of the first frame serve all, and nothing moves but the solution.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    scene = replace(scene, colorbar=False)
    with writer.saving(figure, str(path), dpi):
        for t in moments:
            for ax in axes:
                ax.clear()
            _at(scene, t, kind).draw(axes)
            writer.grab_frame()
    return path


def _at(scene: Scene, t: float, kind: str | None) -> Picture:
    return picture_of(replace(scene, view=scene.view.at_time(float(t))), kind)


def _held(quantity: Quantity, scene: Scene) -> Quantity:
    """The same quantity with limits that suit all times."""
    values = []
    for t in scene.view.moments(_PROBED):
        now = scene.view.at_time(float(t))
        for section in now.lines() if now.free == 1 else now.planes():
            sides = section.axes((401,) if now.free == 1 else (41, 41))
            P = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, len(sides))
            values.append(quantity.values(section, P))
    together = np.concatenate(values)
    scale = quantity.scale.suited(together) if scene.view.free > 2 else quantity.scale
    return replace(quantity, scale=replace(scale, decided=True, held=scale.limits(together)))


class _Gif:
    """Frames as a GIF with one set of colours for all of them: what stands still then really does."""

    def __init__(self, fps: float) -> None:
        self.milliseconds = round(1000 / fps)
        self.image = need("PIL.Image", extra="plot", purpose="A .gif")

    @contextmanager
    def saving(self, figure: Any, path: str, dpi: int) -> Iterator[None]:
        figure.set_dpi(dpi)
        self.figure, self.frames = figure, list[Any]()
        yield
        some = [self.frames[0], self.frames[len(self.frames) // 2], self.frames[-1]]
        sheet = self.image.fromarray(np.concatenate(some))
        palette = sheet.quantize(256)
        colours = np.array(palette.getpalette()).reshape(-1, 3)
        colours[colours.min(axis=1) >= _PAPER] = 255  # paper is white, not nearly so
        palette.putpalette(colours.ravel().tolist())
        first, *others = (
            self.image.fromarray(f).quantize(palette=palette, dither=self.image.Dither.NONE)
            for f in self.frames
        )
        first.save(path, save_all=True, append_images=others, duration=self.milliseconds, loop=0)

    def grab_frame(self) -> None:
        self.figure.canvas.draw()
        self.frames.append(np.asarray(self.figure.canvas.buffer_rgba())[..., :3].copy())


def _video(fps: float) -> Any:
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
    ".gif": _Gif,
    ".mp4": _video,
    ".mov": _video,
    ".webm": _video,
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
