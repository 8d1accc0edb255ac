"""Methods of `Solution` that delegate to other packages: plots, files, integrals, sensitivities.

`Solution` does not depend on the packages that plot or write it, so each method imports its implementation
when it is called, which keeps `import pibls` fast. They are ordinary methods, rather than descriptors that
look up a function, so that signatures, help() and type checkers work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from pibls.expressions import Coordinate, Expression, Number, Parameter
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from pibls.arrays import Array
    from pibls.postprocess.goals import Goal
    from pibls.problem.arguments import IntegrationPlace
    from pibls.solution import Solution


class SolutionAccessors:
    """Mixin of `Solution` with the methods that are implemented in other packages."""

    def when(self, expression: Expression, t: Coordinate | str | None = None, **at: Number) -> Array:
        """Return the times at which an expression changes its sign.

        ``at`` holds a value for each of the other coordinates.
        """
        from pibls.postprocess.events import when

        return when(cast("Solution", self), expression, t, **at)

    @cached_property
    def others(self) -> tuple[Solution, ...]:
        """Further solutions of a nonlinear problem, computed from other initial guesses on first access."""
        from pibls.postprocess.multiple_solutions import other_solutions

        return other_solutions(cast("Solution", self))

    def integral(
        self, expression: Expression, over: IntegrationPlace = None, *, t: Number | None = None
    ) -> Goal:
        """Return ∫ expression over the domain, a shape inside it, or a part of the boundary.

        The result is a float with the attribute ``error``, its estimated absolute error.

        Parameters
        ----------
        expression
            Any SymPy expression of the unknowns and their derivatives; on a boundary also `pibls.dn`.
        over
            None for the domain; a shape for its interior; ``shape.boundary`` for the part of the boundary
            that it contributes; a relation such as ``sympy.Eq(x, 0)`` for a part of the boundary, or a line
            inside the domain.
        t
            The time, if the problem depends on time.

        >>> import sympy as sp, pibls
        >>> x = sp.Symbol("x")
        >>> u = sp.Function("u")(x)
        >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])
        >>> total = pibls.solve(problem).integral(u)
        >>> round(total, 9), total.error < 1e-9
        (1.718281828, True)
        """
        from pibls.postprocess.goals import integral_of

        return integral_of(cast("Solution", self), expression, over, t)

    def sensitivity(self, parameter: Parameter | str, *, time_limit: float | None = None) -> Solution:
        """Return ∂u/∂k for a parameter k of the problem, as a `Solution` with its own error estimate.

        This takes a further solve; ``time_limit`` has the same meaning as in `pibls.solve`.
        """
        from pibls.postprocess.sensitivity import sensitivity

        return sensitivity(cast("Solution", self), parameter, time_limit)

    def plot(
        self,
        *what: Expression,
        kind: str | None = None,
        at: Mapping[Coordinate | str, Number] | None = None,
        times: int | Sequence[float] | None = None,
        vector: tuple[Expression, Expression] | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        units: Mapping[Expression | str, str] | None = None,
        resolution: int | None = None,
        levels: int | None = None,
        cmap: str | None = None,
        colorbar: bool = True,
        band: bool = False,
    ) -> Any:
        """Draw the unknowns, or any expressions of them.

        One free coordinate gives a curve, two give a map (also space × time), two and time give a map at
        each of several times, three or more give the planes through the centre. Nothing is drawn outside
        the domain.

        Parameters
        ----------
        what
            Unknowns (themselves or by name) or SymPy expressions of them, one panel each; all unknowns by
            default. Those of a system of ordinary differential equations share one panel if they have
            the same unit and comparable sizes.
        kind
            "curve", "map", "surface" or "snapshots" (curves at several times); with ``vector``, "quiver",
            "stream" or "deformed" (the displaced body). By default it is chosen by the number of free
            coordinates.
        at
            {coordinate: value}: coordinates to fix; the others are free.
        times
            The number of times to show, or a list of times.
        vector
            (u, v): two unknowns or expressions, drawn as arrows over their magnitude.
        ax
            Axes to draw on, as many as there are panels; new ones by default.
        units
            {coordinate or unknown: text}, for the labels.
        resolution
            Points along the longer side of a panel.
        levels
            The number of contour levels to draw on a map; none by default.
        cmap
            The name of a Matplotlib colour map.
        colorbar
            Whether to draw colour bars.
        band
            Show the estimated error as a band around a curve.

        Returns the Axes, or an array of Axes if there are several panels.

        >>> import sympy as sp, pibls
        >>> x = sp.Symbol("x")
        >>> u = sp.Function("u")(x)
        >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])
        >>> ax = pibls.solve(problem).plot(units={"x": "m"})
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('$x$ (m)', '$u$')
        """
        from pibls.plot import plot

        return plot(
            self._solution,
            *what,
            kind=kind,
            at=at,
            times=times,
            vector=vector,
            ax=ax,
            units=units,
            resolution=resolution,
            levels=levels,
            cmap=cmap,
            colorbar=colorbar,
            band=band,
        )

    def plot_error(
        self,
        exact: Any = None,
        *,
        log: bool = False,
        kind: str | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        **options: Any,
    ) -> Any:
        """Draw the error u - u* against a known solution u*.

        Parameters
        ----------
        exact
            u*: a SymPy expression, a number, or a callable of the coordinate arrays; for several unknowns
            {unknown: u*}.
        log
            Show |u - u*| on a logarithmic scale.
        kind, ax, options
            As for `plot`.

        >>> import sympy as sp, pibls
        >>> x = sp.Symbol("x")
        >>> u = sp.Function("u")(x)
        >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])
        >>> ax = pibls.solve(problem).plot_error(sp.exp(x))
        """
        from pibls.plot import plot_error

        return plot_error(self._solution, exact, log=log, kind=kind, ax=ax, **options)

    def plot_residual(
        self,
        *,
        log: bool = False,
        kind: str | None = None,
        ax: Axes | Sequence[Axes] | None = None,
        **options: Any,
    ) -> Any:
        """Draw the residual N[u] - f of each equation, at points that were not fitted.

        Parameters
        ----------
        log
            Show its absolute value on a logarithmic scale.
        kind, ax, options
            As for `plot`.
        """
        from pibls.plot import plot_residual

        return plot_residual(self._solution, log=log, kind=kind, ax=ax, **options)

    def plot_cells(
        self,
        *,
        at: Mapping[Coordinate | str, Number] | None = None,
        ax: Axes | None = None,
        units: Mapping[Expression | str, str] | None = None,
        cmap: str | None = None,
        colorbar: bool = True,
    ) -> Any:
        """Draw the cells and time windows into which the domain was divided.

        Cells are coloured by their estimated error if it is known. A solution on a single domain is drawn
        as one cell.

        Parameters
        ----------
        at
            {coordinate: value}: the section to draw if there are more than two coordinates; through the
            centre by default.
        ax
            Axes to draw on; new ones by default.
        units
            {coordinate: text}, for the labels.
        cmap
            The name of a Matplotlib colour map.
        colorbar
            Whether to draw a colour bar.

        Returns the Axes.
        """
        from pibls.plot import plot_cells

        return plot_cells(self._solution, at=at, ax=ax, units=units, cmap=cmap, colorbar=colorbar)

    def animate(
        self,
        path: str | Path,
        *what: Expression,
        frames: int = 60,
        fps: float = 20.0,
        dpi: int = 110,
        kind: str | None = None,
        vector: tuple[Expression, Expression] | None = None,
        **options: Any,
    ) -> Path:
        """Write an animation of the solution in time: .gif, or with ffmpeg .mp4, .mov, .webm.

        Colours and axes are the same in all frames.

        Parameters
        ----------
        path
            The file to write; its extension selects the format.
        what
            As for `plot`.
        frames, fps
            The number of frames, and frames per second.
        dpi
            Pixels per inch.
        kind, vector, options
            As for `plot`.

        Returns the path.
        """
        from pibls.plot import animate

        return animate(
            self._solution, path, *what, frames=frames, fps=fps, dpi=dpi, kind=kind, vector=vector, **options
        )

    def to_xarray(
        self, /, *what: Expression, units: Mapping[Expression | str, str] | None = None, **grid: npt.ArrayLike
    ) -> xarray.Dataset:
        """Return an xarray Dataset with one variable per requested field, one dimension per coordinate.

        Parameters
        ----------
        what
            Unknowns or SymPy expressions of them; all unknowns by default.
        units
            {coordinate or unknown: text}, stored as the ``units`` attribute that xarray's plots show.
        grid
            For each coordinate a number of points, or the values themselves; chosen by default.

        Values outside the domain are NaN. The attributes of the Dataset hold the problem, the status and
        the estimated error.

        >>> import sympy as sp, pibls
        >>> x = sp.Symbol("x")
        >>> u = sp.Function("u")(x)
        >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])
        >>> data = pibls.solve(problem).to_xarray(x=[0.0, 0.5, 1.0])
        >>> data["u"].dims, round(float(data["u"].sel(x=1.0)), 6)
        (('x',), 2.718282)
        """
        from pibls.exchange import to_xarray

        return to_xarray(self._solution, *what, units=units, **grid)

    def to_vtk(
        self,
        path: str | Path,
        /,
        *what: Expression,
        vectors: Mapping[str, Sequence[Expression]] | None = None,
        at: Mapping[Coordinate | str, Number] | None = None,
        **grid: npt.ArrayLike,
    ) -> Path:
        """Write a file for ParaView and other programs that read VTK's XML formats.

        A box is written as a uniform grid (.vti), or as the cells of a nonuniform grid (.vtu); any other
        shape as a mesh fitted to its boundary (.vtu). For an evolution one such file is written for each
        time, and a .pvd file that lists them, which is the one to open.

        Parameters
        ----------
        path
            The file to write. The extension is added if there is none.
        what
            Unknowns or SymPy expressions of them; all unknowns by default.
        vectors
            {name: (u, v)}: vector fields, of two or three components.
        at
            {coordinate: value}: coordinates to fix; at most three space coordinates may remain free.
        grid
            For each coordinate a number of points, or the values themselves.

        Returns the path of the file to open.
        """
        from pibls.exchange import to_vtk

        return to_vtk(self._solution, path, *what, vectors=vectors, at=at, **grid)

    def to_csv(self, path: str | Path, /, *what: Expression, **grid: npt.ArrayLike) -> Path:
        """Write a table with a column for each coordinate and each unknown, and a row for each point.

        Parameters
        ----------
        path
            The file to write.
        what
            Unknowns or SymPy expressions of them; all unknowns by default.
        grid
            For each coordinate a number of points, or the values themselves; chosen by default.

        Numbers are written with full precision. Points outside the domain are omitted. Returns the path.
        """
        from pibls.exchange import to_csv

        return to_csv(self._solution, path, *what, **grid)

    def save(self, path: str | os.PathLike[str], /) -> Path:
        """Write the solution to a file that `pibls.load` reads.

        If the basis was given, the error is estimated first, which takes a second solve unless it has been
        estimated already. An existing file is replaced only when the new one is complete. User-defined
        classes of bases, activations or domains cannot be saved; Python functions among the data are saved
        by name only. Returns the path.

        >>> import tempfile, sympy as sp, pibls
        >>> x = sp.Symbol("x")
        >>> u = sp.Function("u")(x)
        >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x) - u], [pibls.Initial(u, 1)])
        >>> solution = pibls.solve(problem)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = pibls.load(solution.save(f"{folder}/growth.pibls"))
        >>> bool(again(0.3) == solution(0.3)), again.summary() == solution.summary()
        (True, True)
        """
        from pibls.io import save

        return save(self._solution, path)

    def _repr_html_(self) -> str:
        """HTML for a notebook: a table of results, a plot, and the problem."""
        from pibls.notebook.solution import solution_html

        return solution_html(self._solution)

    @property
    def _solution(self) -> Solution:
        return cast("Solution", self)
