r"""scikit-fem at high order: `ElementQuadP` on rectangles, each local matrix by one matrix product.

The forms are those of `ngsolve_high_order`. With trial operators L_k and test operators M_k the local matrix
is Σ_k ∫ (M_k φ_i)(L_k φ_j), a product of two arrays of the scikit-fem basis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.adapter import Outcome, Setting, Task, absent
from benchmarks.peers.plane import Candidate, Plane, busy_note, median_time, plane_of, settings_of
from pibls.arrays import Array
from pibls.cases.case import Case

# Additional quadrature degree, since the data are not polynomials.
_BONUS = 4
_NEWTON_STEPS = 20

# (order, nx, ny); see `benchmarks.peers.plane`.
_CHOSEN = {
    "TC-4": [(4, 4, 4), (6, 4, 4), (8, 4, 4), (12, 2, 2), (12, 3, 3), (14, 2, 2)],
    "TC-5": [(4, 4, 4), (6, 4, 4), (8, 4, 4), (8, 6, 6), (12, 3, 3), (12, 4, 4)],
    "TC-6": [(4, 4, 4), (6, 4, 4), (8, 3, 3), (8, 4, 4), (10, 3, 3), (12, 2, 2)],
    "TC-7": [(4, 8, 2), (6, 4, 1), (8, 4, 1), (10, 4, 1), (12, 4, 1)],
    "TC-8": [(4, 4, 2), (6, 6, 3), (8, 4, 2), (8, 6, 3), (10, 4, 2), (12, 4, 2)],
    "TC-11": [(4, 4, 2), (6, 4, 2), (8, 4, 2), (10, 3, 1), (12, 3, 1), (14, 3, 1)],
}


class ScikitFEM:
    """Order and mesh chosen for each case."""

    name = "scikit-fem"
    title = "scikit-fem, high order"
    packages = ("skfem",)
    install = "pip install scikit-fem"
    fairness = (
        "Its own assembly calls the form in Python for each pair of basis functions, (order + 1)⁴ times; "
        "here the local matrices are matrix products of the arrays in its basis, some 70 times quicker at "
        "order 12, and inner unknowns are condensed out. Its default quadrature, far too fine at high order, "
        "is set to what is needed. The formulations, the choice of order and mesh and the timing are those "
        "of NGSolve."
    )

    def missing(self) -> str | None:
        return absent(self.packages)

    def settings(self, case: Case) -> list[Setting]:
        plane_of(case)
        return settings_of(_CHOSEN[case.name])

    def run(self, task: Task) -> Outcome:
        plane, chosen = plane_of(task.case), Candidate(**task.setting.values)
        data = Data(plane)
        (space, solution, facts), seconds, timing = median_time(lambda: solve(data, chosen))
        values = space.basis.probes(task.points.T) @ solution
        facts = {"unknowns": len(solution), **facts, **timing}
        return Outcome(values, seconds, facts=facts, note=busy_note(seconds, timing["processor_seconds"]))


class Data:
    """The data of a plane case as NumPy functions."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.source = plane.function(plane.source)
        self.given = {side: plane.function(value) for side, value in plane.given.items()}
        if plane.kind == "advection":
            self.velocity = [plane.function(b) for b in plane.velocity]


@dataclass(frozen=True)
class Space:
    """Values and derivatives of the basis functions, for all elements.

    ``value``, ``d1``, ``d2`` (elements, functions, points); ``weights`` and the coordinates ``x1``, ``x2``
    (elements, points); ``dofs`` (elements, functions) are the unknowns of the functions, those of the
    skeleton first; ``same`` (unknowns,) is the unknown that each is identified with: itself, except on the
    right side of a periodic domain; ``start`` (unknowns,) has the Dirichlet data, and ``free`` are the other
    unknowns of the skeleton.
    """

    basis: Any
    value: Array
    d1: Array
    d2: Array
    weights: Array
    x1: Array
    x2: Array
    dofs: Any
    same: Any
    start: Array
    free: Any

    def at_points(self, u: Array) -> tuple[Array, Array, Array]:
        """Return u and its two first derivatives, shape (elements, points)."""
        local = u[self.dofs][:, None, :]
        return (local @ self.value)[:, 0], (local @ self.d1)[:, 0], (local @ self.d2)[:, 0]


def solve(data: Data, chosen: Candidate) -> tuple[Space, Array, dict[str, Any]]:
    """Return the space, the coefficients, and facts about the solve."""
    import skfem

    (a, b), (c, d) = data.plane.box
    mesh = skfem.MeshQuad.init_tensor(np.linspace(a, b, chosen.nx + 1), np.linspace(c, d, chosen.ny + 1))
    if data.plane.kind == "burgers":
        return _burgers(mesh, chosen.order, data)
    space = _space(mesh, chosen.order, data)
    f = data.source(space.x1, space.x2)
    if data.plane.kind == "poisson":
        operators, load = [space.d1, space.d2], -_load_vector(space.value, f * space.weights)
    else:
        b1, b2 = (b(space.x1, space.x2) * np.ones_like(space.x1) for b in data.velocity)
        operators = [b1[:, None] * space.d1 + b2[:, None] * space.d2]
        load = _load_vector(operators[0], f * space.weights)
    G = np.concatenate([np.sqrt(space.weights)[:, None] * L for L in operators], axis=2)
    return space, _solve_condensed(space, G @ G.swapaxes(1, 2), load, space.start), {}


def _burgers(mesh: Any, order: int, data: Data) -> tuple[Space, Array, dict[str, Any]]:
    """Newton's method at half the order from the initial value, then at the full order from that solution."""
    p = max(order // 2, 4)
    half_order = _space(mesh, p, data)
    initial = _load_vector(
        half_order.value, data.given["bottom"](half_order.x1, half_order.x2) * half_order.weights
    )
    mass = (half_order.value * half_order.weights[:, None]) @ half_order.value.swapaxes(1, 2)
    guess, first = _newton(
        half_order, data, _solve_condensed(half_order, mass, initial, half_order.start), 1e-3
    )
    space = _space(mesh, order, data)
    u = np.zeros(space.basis.N)
    u[space.dofs[:, _lower_order_indices(order, p)]] = guess[half_order.dofs]
    given = np.setdiff1d(np.unique(space.dofs[:, : 4 * order]), space.free)
    u[given] = space.start[given]
    u, second = _newton(space, data, u, 1e-6)
    return space, u, {"newton_steps": [first, second]}


def _lower_order_indices(order: int, p: int) -> list[int]:
    """Return the indices of the functions of order p among those of a higher order (hierarchical element)."""
    edges = [4 + n * (order - 1) + k for n in range(4) for k in range(p - 1)]
    inside = [4 * order + i * (order - 1) + k for i in range(p - 1) for k in range(p - 1)]
    return [*range(4), *edges, *inside]


def _newton(space: Space, data: Data, u: Array, tolerance: float) -> tuple[Array, int]:
    """Solve ∫ (u_t + u u_x - f) v + ν u_x v_x = 0 by Newton from a u with the boundary values."""
    w, nu = space.weights, data.plane.viscosity
    f = data.source(space.x1, space.x2)
    test = np.concatenate([space.value, space.d1], axis=2)
    for count in range(1, _NEWTON_STEPS + 1):
        s, s_x, s_t = space.at_points(u)
        first = s[:, None] * space.d1 + s_x[:, None] * space.value + space.d2
        trial = np.concatenate([w[:, None] * first, (nu * w)[:, None] * space.d1], axis=2)
        residual = np.concatenate([w * (f - s_t - s * s_x), -nu * w * s_x], axis=1)
        step = _solve_condensed(
            space, test @ trial.swapaxes(1, 2), _load_vector(test, residual), np.zeros_like(u)
        )
        u = u + step
        # Quadratic convergence: the error is far below the last step.
        if np.linalg.norm(step) <= tolerance * np.linalg.norm(u):
            return u, count
    raise RuntimeError(f"Newton's method did not converge in {_NEWTON_STEPS} steps")


def _load_vector(functions: Array, weighted: Array) -> Array:
    """Return ∫ φ_i f for each element, shape (elements, functions); f includes the quadrature weights."""
    load: Array = (functions @ weighted[..., None])[..., 0]
    return load


def _solve_condensed(space: Space, K: Array, F: Array, start: Array) -> Array:
    """Solve by static condensation with the local matrices K and vectors F.

    ``start`` has the values of the unknowns of the skeleton that are not free.
    """
    import skfem
    from scipy.sparse import coo_matrix

    n, dofs = 4 * space.basis.elem.p, space.dofs
    inner = np.linalg.solve(K[:, n:, n:], np.concatenate([K[:, n:, :n], F[:, n:, None]], axis=2))
    local = K[:, :n, :n] - K[:, :n, n:] @ inner[:, :, :n]
    rest = F[:, :n] - (K[:, :n, n:] @ inner[:, :, n:])[..., 0]
    skeleton = dofs[:, :n]
    rows, columns = np.broadcast_to(skeleton[:, :, None], local.shape), skeleton[:, None, :]
    where = (rows.ravel(), np.broadcast_to(columns, local.shape).ravel())
    S = coo_matrix((local.ravel(), where), shape=2 * (space.basis.N,)).tocsr()
    f = np.bincount(skeleton.ravel(), rest.ravel(), minlength=space.basis.N)
    u: Array = skfem.solve(*skfem.condense(S, f, x=start.copy(), I=space.free))
    u[dofs[:, n:]] = inner[:, :, n] - (inner[:, :, :n] @ u[skeleton][..., None])[..., 0]
    joined: Array = u[space.same]
    return joined


def _space(mesh: Any, order: int, data: Data) -> Space:
    import skfem

    # The default quadrature assumes polynomials of degree p².
    basis = skfem.Basis(mesh, skfem.ElementQuadP(order), intorder=2 * order + _BONUS, disable_doflocs=True)
    fields = [field for (field,) in basis.basis]
    gradient = np.stack([field.grad for field in fields], axis=2)
    value = np.stack([np.asarray(field) for field in fields], axis=1)
    x1, x2 = np.asarray(basis.global_coordinates())
    same, fixed, start = np.arange(basis.N), np.zeros(basis.N, dtype=bool), np.zeros(basis.N)
    if data.plane.periodic:
        left, right = (_edge_dofs(basis, data.plane, side)[1] for side in ("left", "right"))
        same[right] = left
        fixed[right] = True
    for side, function in data.given.items():
        ends, dofs = _edge_dofs(basis, data.plane, side)
        start[dofs] = _project(order, ends, function)
        fixed[dofs] = True
    dofs = same[basis.element_dofs.T]
    free = np.setdiff1d(np.unique(dofs[:, : 4 * order]), np.nonzero(fixed)[0])
    return Space(basis, value, gradient[0], gradient[1], basis.dx, x1, x2, dofs, same, start, free)


def _edge_dofs(basis: Any, plane: Plane, side: str) -> tuple[Array, Any]:
    """Return the edges on one side: ends (2 ends, 2 coordinates, edges), unknowns (1 + order, edges)."""
    mesh = basis.mesh
    axis, end = {"left": (0, 0), "right": (0, 1), "bottom": (1, 0), "top": (1, 1)}[side]
    facets = mesh.facets_satisfying(lambda x: x[axis] == plane.box[axis][end], boundaries_only=True)
    facets = facets[np.argsort(mesh.p[1 - axis, mesh.facets[0, facets]])]
    nodes = mesh.facets[:, facets]
    dofs = np.concatenate([basis.dofs.nodal_dofs[0, nodes], basis.dofs.facet_dofs[:, facets]])
    return mesh.p[:, nodes].swapaxes(0, 1), dofs


def _project(order: int, ends: Array, function: Any) -> Array:
    """Return the coefficients of a function on edges, shape (order + 1, edges).

    Values at the ends, L² projection of the rest; on an edge `ElementQuadP` has the functions of
    `ElementLinePp`.
    """
    import skfem

    x, w = skfem.quadrature.get_quadrature(skfem.element.ElementLinePp.refdom, 2 * order + _BONUS)
    line = skfem.ElementLinePp(order)
    phi = np.stack([line.lbasis(x, i)[0] for i in range(order + 1)])
    first, last = ends[0][..., None], ends[1][..., None]
    at_ends = np.stack([np.broadcast_to(function(*end), end.shape[1:]) for end in ends])
    rest = function(*(first + (last - first) * x)) - at_ends.T @ phi[:2]
    bubbles = phi[2:] * w
    return np.concatenate([at_ends, np.linalg.solve(bubbles @ phi[2:].T, bubbles @ rest.T)])
