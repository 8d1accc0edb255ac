"""Reference values by NGSolve at high order for problems without an exact solution, stored at points.

    python -m benchmarks.shape_references            # compute all references: a few minutes

Meshes are curved, and graded towards corners with singular solutions; each reference is computed at two
orders, and their difference is stored.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pibls.arrays import Array

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "data" / "shapes"
_CORNER_LEVELS = 8
_CORNER = 0.1


def stored(name: str) -> tuple[Array, Array] | None:
    """Return (points, values) of a reference, or None if it is not stored."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        return None
    with np.load(path) as found:
        return found["points"], found["values"]


def plate_mesh(corners: tuple[float, float], discs: list[tuple[float, float, float]], size: float, order: int,
               levels: int = 0) -> Any:  # fmt: skip
    """Return a mesh of a square without discs, boundaries "outer" and "holes", graded towards the corners."""
    import ngsolve as ng
    from netgen.geom2d import Circle, CSG2d, Rectangle

    low, high = corners
    shape = Rectangle(pmin=(low, low), pmax=(high, high), bc="outer")
    for a, b, r in discs:
        shape = shape - Circle(center=(a, b), radius=r, bc="holes")
    geometry = CSG2d()
    geometry.Add(shape)
    mesh = ng.Mesh(geometry.GenerateMesh(maxh=size, grading=0.5))
    for _ in range(levels):
        ends = [(a, b) for a in corners for b in corners]
        for element in mesh.Elements(ng.VOL):
            points = [mesh[v].point for v in element.vertices]
            near = any(abs(p[0] - a) + abs(p[1] - b) < 1e-12 for p in points for a, b in ends)
            mesh.SetRefinementFlag(element, near)
        mesh.Refine()
    mesh.Curve(order)
    return mesh


def graded_l(size: float, levels: int) -> Any:
    """Return a mesh of the L-shape in [-1, 1]², graded towards the re-entrant corner."""
    import ngsolve as ng
    from netgen.geom2d import SplineGeometry

    geometry = SplineGeometry()
    corners = ((0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1))
    points = [geometry.AppendPoint(*p) for p in corners]
    for i in range(6):
        geometry.Append(["line", points[i], points[(i + 1) % 6]], bc="outer")
    mesh = ng.Mesh(geometry.GenerateMesh(maxh=size))
    for _ in range(levels):
        for element in mesh.Elements(ng.VOL):
            points_of = [mesh[v].point for v in element.vertices]
            mesh.SetRefinementFlag(element, any(abs(p[0]) + abs(p[1]) < 1e-12 for p in points_of))
        mesh.Refine()
    return mesh


def reaction_diffusion(mesh: Any, order: int, c: float, source: Any, outer: Any, holes: Any) -> Any:
    """Solve -Δu + c u = f with Dirichlet values on both boundaries."""
    import ngsolve as ng

    space = ng.H1(mesh, order=order, dirichlet="outer|holes")
    u, v = space.TnT()
    form = ng.BilinearForm(space, condense=True)
    form += (ng.grad(u) * ng.grad(v) + c * u * v) * ng.dx
    load = ng.LinearForm(space)
    load += source * v * ng.dx
    found = ng.GridFunction(space)
    found.Set(mesh.BoundaryCF({"outer": outer, "holes": holes}), ng.BND)
    with ng.TaskManager():
        solve_condensed(form, load, found)
    return found


def solve_condensed(form: Any, load: Any, found: Any) -> None:
    """Solve in place for given boundary values in ``found``, by static condensation."""
    form.Assemble()
    load.Assemble()
    r = load.vec.CreateVector()
    r.data = load.vec - form.mat * found.vec
    r.data += form.harmonic_extension_trans * r
    inverse = form.mat.Inverse(found.space.FreeDofs(coupling=True), inverse="sparsecholesky")
    found.vec.data += inverse * r
    found.vec.data += form.inner_solve * r
    found.vec.data += form.harmonic_extension * found.vec


def four_discs(size: float, order: int, levels: int) -> Any:
    import ngsolve as ng

    discs = [(a, b, 0.2) for a in (-0.5, 0.5) for b in (-0.5, 0.5)]
    mesh = plate_mesh((-1.0, 1.0), discs, size, order, levels)
    X, Y = ng.x, ng.y
    source = 10 * (17 + X**2 + Y**2) * ng.sin(np.pi * X) * ng.sin(4 * np.pi * Y)
    return reaction_diffusion(mesh, order, 64.0, source, 0.2, 1.0)


def plate(number: int) -> Callable[[float, int, int], Any]:
    def solve(size: float, order: int, levels: int) -> Any:
        import ngsolve as ng

        from benchmarks.shape_problems import discs

        mesh = plate_mesh((0.0, 1.0), discs(number), size, order, levels)
        return reaction_diffusion(mesh, order, 0.0, ng.CF(0.0), 0.0, 1.0)

    return solve


def cavity(re: float) -> Callable[[float, int, int], Any]:
    """Return a solver of the driven cavity: Taylor-Hood elements of high order, Newton from Stokes flow."""

    def solve(size: float, order: int, levels: int) -> Any:
        import ngsolve as ng
        from netgen.geom2d import SplineGeometry

        geometry = SplineGeometry()
        points = [geometry.AppendPoint(*p, hpref=1) for p in ((0, 0), (1, 0), (1, 1), (0, 1))]
        for i, bc in enumerate(("wall", "wall", "lid", "wall")):
            geometry.Append(["line", points[i], points[(i + 1) % 4]], bc=bc)
        mesh = ng.Mesh(geometry.GenerateMesh(maxh=size))
        mesh.RefineHP(levels, 0.2)
        velocity = ng.VectorH1(mesh, order=order, dirichlet="wall|lid")
        pressure = ng.H1(mesh, order=order - 1)
        space = velocity * pressure * ng.NumberSpace(mesh)
        (u, p, m), (v, q, n) = space.TnT()
        stokes = (
            ng.InnerProduct(ng.Grad(u), ng.Grad(v)) / re - ng.div(u) * q - ng.div(v) * p + m * q + n * p
        ) * ng.dx
        form = ng.BilinearForm(space)
        form += stokes
        form += ng.InnerProduct(ng.Grad(u) * u, v) * ng.dx
        found = ng.GridFunction(space)
        found.components[0].Set(ng.CF((1.0, 0.0)), definedon=mesh.Boundaries("lid"))
        free = space.FreeDofs()
        for _ in range(15):
            form.AssembleLinearization(found.vec)
            r = found.vec.CreateVector()
            form.Apply(found.vec, r)
            step = found.vec.CreateVector()
            step.data = form.mat.Inverse(free, inverse="umfpack") * r
            found.vec.data -= step
            if np.abs(step.FV().NumPy()).max() < 1e-12:
                break
        return found

    return solve


REFERENCES: dict[str, tuple[Callable[[float, int, int], Any], tuple[float, int], float]] = {
    "four_discs": (four_discs, (0.15, 12), 1.0),
    "discs_12": (plate(12), (0.1, 12), 1.0),
    "discs_40": (plate(40), (0.06, 10), 1.0),
    "cavity_100": (cavity(100.0), (0.08, 6), 1.0),
    "cavity_400": (cavity(400.0), (0.08, 6), 1.0),
}


def points_for(name: str, n: int) -> Array:
    """Return the points of a reference: inside, and close to the boundary."""
    from benchmarks.shape_problems import ENTRIES

    entry = next(e for e in ENTRIES if name in e.reference_names)
    domain = entry.build()[0].domain
    rng = np.random.default_rng(5)
    X = domain.interior(3 * n // 4, rng)
    boundary = domain.boundary(n // 4, rng)
    near = boundary.points - 2e-3 * boundary.normals
    X = np.concatenate([X, near[np.asarray(domain.contains(near), dtype=bool)]])
    if name.startswith("cavity"):  # the velocity jumps in the upper corners
        X = X[np.hypot(np.minimum(X[:, 0], 1.0 - X[:, 0]), 1.0 - X[:, 1]) > _CORNER]
    return X


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (solve, (size, order), _) in REFERENCES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        X = points_for(name, 1600)
        found = []
        for o in (order, order + 3):
            began = time.process_time()
            u = solve(size, o, _CORNER_LEVELS)
            mesh = u.space.mesh
            first = u if not u.components else u.components[0][0]
            found.append(np.asarray(first(mesh(X[:, 0], X[:, 1]))).reshape(-1))
            print(name, o, u.space.ndof, f"{time.process_time() - began:.1f} s", flush=True)
        difference = float(np.abs(found[1] - found[0]).max())
        np.savez_compressed(
            FOLDER / f"{name}.npz", points=X, values=found[1], difference=np.array(difference)
        )
        print(f"{name}: {len(X)} points, orders differ by {difference:.1e}", flush=True)


if __name__ == "__main__":
    main()
