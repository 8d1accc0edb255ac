"""solution.plot(), solution.save(path), …: the ways out of solutions, as plain methods.

Data flows one way, so a solution knows nothing of pictures and files. Each method here imports its code
when it is called: `import pibls` stays quick, and signatures, help() and completion are ordinary ones,
which a descriptor that fetches the function cannot give to editors and type checkers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pibls.caching import cached_property

if TYPE_CHECKING:
    from pibls.arrays import Array
    from pibls.postprocess.goals import Goal
    from pibls.solution import Solution


class SolutionDoors:
    """What a solution can be turned into."""

    def when(self, expression: Any, t: Any = None, **at: Any) -> Array:
        """The times at which an expression changes its sign; values of the other coordinates are given."""
        from pibls.postprocess.events import when

        return when(cast("Solution", self), expression, t, **at)

    @cached_property
    def others(self) -> tuple[Solution, ...]:
        """Other solutions of a nonlinear problem, searched for from other starts when first asked for."""
        from pibls.postprocess.others import others

        return others(cast("Solution", self))

    def integral(self, expression: Any, over: Any = None, *, t: Any = None) -> Goal:
        """∫ expression over the domain, or over a shape in it, its boundary or a part of that.

        The result is a number with ``error``, an estimate of how far it is off.

        Parameters
        ----------
        expression
            Any SymPy expression of the unknowns and their derivatives; on a boundary also `pibls.dn`.
        over
            None for the domain; a shape for what lies in it; ``shape.boundary`` for what it contributes to
            the boundary; a relation such as ``sympy.Eq(x, 0)`` for a part of the boundary, or a line inside.
        t
            The time, where the problem has one.

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

    def sensitivity(self, parameter: Any, *, time_limit: float | None = None) -> Solution:
        """∂u/∂k by a parameter of the problem: a function like the solution, with its own error estimate.

        It takes a solve of its own, which ``time_limit`` ends as it ends `pibls.solve`.
        """
        from pibls.postprocess.sensitivity import sensitivity

        return sensitivity(cast("Solution", self), parameter, time_limit)

    def plot(
        self,
        *what: Any,
        kind: str | None = None,
        at: Mapping[Any, Any] | None = None,
        times: int | Sequence[float] | None = None,
        vector: tuple[Any, Any] | None = None,
        ax: Any = None,
        units: Mapping[Any, str] | None = None,
        resolution: int | None = None,
        levels: int | None = None,
        cmap: str | None = None,
        colorbar: bool = True,
        band: bool = False,
    ) -> Any:
        """Draw the unknowns, or any expressions of them.

        One free coordinate gives a curve, two a map (space × time too), two and time a map for each of
        some times, three or more the planes through the middle. Nothing is drawn outside the domain.

        Parameters
        ----------
        what
            Unknowns (themselves or by name) or SymPy expressions of them, one panel each; all unknowns by
            default.
        kind
            "curve", "map", "surface" or "snapshots" (curves at several times); with ``vector``, "quiver",
            "stream" or "deformed" (the body where displacements take it). The one that suits is chosen by
            default.
        at
            {coordinate: value}: coordinates to fix, which are then free no longer.
        times
            How many times to show, or which.
        vector
            (u, v): two unknowns or expressions, drawn as arrows over their magnitude.
        ax
            Axes to draw on, as many as there are panels; new ones by default.
        units
            {coordinate or unknown: text}, for the labels.
        resolution
            Points along the longer side of a panel.
        levels
            How many contour lines to draw on a map; none by default.
        cmap
            Another colour map.
        band
            Show the estimated error around a curve.

        Returns the Axes, or an array of them where there are several panels.

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
        self, exact: Any = None, *, log: bool = False, kind: str | None = None, ax: Any = None, **options: Any
    ) -> Any:
        """Draw u - u* for a known solution u*.

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
        self, *, log: bool = False, kind: str | None = None, ax: Any = None, **options: Any
    ) -> Any:
        """Draw what is left of each equation, N[u] - f, at points that were not fitted.

        Parameters
        ----------
        log
            Show its size on a logarithmic scale.
        kind, ax, options
            As for `plot`.
        """
        from pibls.plot import plot_residual

        return plot_residual(self._solution, log=log, kind=kind, ax=ax, **options)

    def plot_cells(
        self,
        *,
        at: Mapping[Any, Any] | None = None,
        ax: Any = None,
        units: Mapping[Any, str] | None = None,
        cmap: str | None = None,
        colorbar: bool = True,
    ) -> Any:
        """Draw the cells and windows into which the domain was divided.

        Cells are coloured by the estimated error in each where that is known. A solution in one piece is
        one cell.

        Parameters
        ----------
        at
            {coordinate: value}: where to cut, with more than two coordinates; through the middle by default.
        ax
            Axes to draw on; new ones by default.
        units
            {coordinate: text}, for the labels.
        cmap
            Another colour map.

        Returns the Axes.
        """
        from pibls.plot import plot_cells

        return plot_cells(self._solution, at=at, ax=ax, units=units, cmap=cmap, colorbar=colorbar)

    def animate(
        self,
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

        Colours and axes are the same in all frames.

        Parameters
        ----------
        path
            The file to write; its ending says which kind.
        what
            As for `plot`.
        frames, fps
            How many pictures, and how many of them per second.
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

    def to_xarray(self, /, *what: Any, units: Mapping[Any, str] | None = None, **grid: Any) -> Any:
        """An xarray Dataset: one variable per unknown, one named dimension per coordinate.

        Parameters
        ----------
        what
            Unknowns or SymPy expressions of them; all unknowns by default.
        units
            {coordinate or unknown: text}, kept as the attribute that xarray's plots show.
        grid
            For each coordinate a number of points, or the values themselves; a sensible number by default.

        Points outside the domain hold NaN. The attributes of the Dataset say what was solved, how it ended
        and how large the error is estimated to be.

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
        *what: Any,
        vectors: Mapping[str, Sequence[Any]] | None = None,
        at: Mapping[Any, Any] | None = None,
        **grid: Any,
    ) -> Path:
        """Write a file for ParaView and other programs that read VTK's XML formats.

        A box becomes a regular grid (.vti), any other shape a mesh that ends at its boundary (.vtu). With
        time there is one such file for each time, and a .pvd file that names them: open that one.

        Parameters
        ----------
        path
            The file to write. The ending is chosen if there is none.
        what
            Unknowns or SymPy expressions of them; all unknowns by default.
        vectors
            {name: (u, v)}: vector fields, of two or three components.
        at
            {coordinate: value}: coordinates to fix; of more than three in space, the rest must be fixed.
        grid
            For each coordinate a number of points, or the values themselves.

        Returns the path of the file to open.
        """
        from pibls.exchange import to_vtk

        return to_vtk(self._solution, path, *what, vectors=vectors, at=at, **grid)

    def to_csv(self, path: str | Path, /, *what: Any, **grid: Any) -> Path:
        """Write a table with a column for each coordinate and each unknown, and a row for each point.

        Parameters
        ----------
        path
            The file to write.
        what
            Unknowns or SymPy expressions of them; all unknowns by default.
        grid
            For each coordinate a number of points, or the values themselves; a sensible number by default.

        Numbers are written so that they are read back exactly. Points outside the domain are left out.
        Returns the path.
        """
        from pibls.exchange import to_csv

        return to_csv(self._solution, path, *what, **grid)

    def save(self, path: str | os.PathLike[str], /) -> Path:
        """Write the solution into one file, for `pibls.load`.

        With a given basis the error is estimated first, which takes a second solve, unless that was done
        already. An older file of that name is replaced only when the new one is complete. A basis, activation
        or domain of a class of one's own cannot be saved; Python functions among the data are saved by name
        only. Returns the path.

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
        """HTML for a notebook: what is known, a picture, and the problem."""
        from pibls.notebook.solution import solution_html

        return solution_html(self._solution)

    @property
    def _solution(self) -> Solution:
        return cast("Solution", self)
