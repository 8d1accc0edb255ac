"""Further problems: electric fields on shapes and in space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from validation.fresh.electricity import BESSEL_ZERO
from validation.statements.statement import stated
from validation.statements.symbols import RADIUS, RADIUS_SQUARED, R, laplacian, u_of, x, y, z

_p1, _p2 = (R(129, 40) - sp.sqrt(R(129, 40) ** 2 - 4)) / 2, (R(129, 40) + sp.sqrt(R(129, 40) ** 2 - 4)) / 2


def _lg(X: Any, Y: Any) -> Any:
    return sp.log(((X - _p1) ** 2 + Y**2) / ((X - _p2) ** 2 + Y**2))


_out, _in = _lg(1, 0), _lg(R(13, 20), 0)


@stated(
    "shape",
    "electrostatics",
    "Smythe: eccentric cylinders",
    tags="annulus",
    tol=1e-8,
    exact={"u": 100 * (_lg(x, y) - _out) / (_in - _out)},
)
def eccentric_cable(p: Any) -> Any:
    """A cable whose core (100 V) does not lie in the middle of its shield (0 V)."""
    u = u_of(x, y)
    core = p.Disk((x, y), (0.3, 0), 0.35)
    return p.Problem(
        p.Disk((x, y), (0, 0), 1) - core,
        [sp.Eq(laplacian(u), 0)],
        [p.Dirichlet(u, 100, on=core), p.Dirichlet(u, 0)],
    )


def _corner_powers(angle: Any, wave: Any, rows: Any, terms: Any = 150, offset: Any = 0.0) -> Any:
    """u = offset + sum of (r/sqrt 2)^(2k/3) wave(2k phi/3) around (1, 1), least squares on the far sides.

    rows: (X, Y, kind, value), kind "u", "x" or "y" for the value or a derivative."""
    k = 2 * np.arange(0 if wave == "cos" else 1, terms) / 3

    def both(X: Any, Y: Any) -> Any:
        X, Y = np.asarray(X, float), np.asarray(Y, float)
        rad = np.hypot(X - 1, Y - 1)[..., None]
        phi = np.mod(np.arctan2(Y - 1, X - 1) - angle + 1e-12, 2 * np.pi)[..., None] - 1e-12
        power = (rad / math.sqrt(2)) ** k
        C, S = np.cos(k * phi), np.sin(k * phi)
        val, dphi = (C, -k * S) if wave == "cos" else (S, k * C)
        th = phi + angle
        with np.errstate(all="ignore"):
            ur, ut = k * power * val / rad, power * dphi / rad
        return {
            "u": power * val,
            "x": ur * np.cos(th) - ut * np.sin(th),
            "y": ur * np.sin(th) + ut * np.cos(th),
        }

    A = np.vstack([both(X, Y)[kind] for X, Y, kind, _ in rows])
    b = np.concatenate(
        [np.full(np.shape(X), value - (offset if kind == "u" else 0)) for X, _, kind, value in rows]
    )
    c = np.linalg.lstsq(A, b, rcond=1e-16)[0]
    return lambda X, Y: offset + both(X, Y)["u"] @ c


_half_way = (1 - np.cos(np.pi * (np.arange(200) + 0.5) / 200)) / 2


def _l_powers() -> Any:
    h, one = _half_way, np.ones(200)
    f = _corner_powers(
        np.pi / 2,
        "cos",
        [(2 * one, h, "u", 0), (h, 2 * one, "u", 1), (0 * one, 2 * h, "x", 0), (2 * h, 0 * one, "y", 0)],
    )
    return {"u": f}


def lightning(chains: Any, unknown_constants: Any, degree: Any = 50, poles: Any = 90) -> Any:
    """u = Re f, f rational with poles clustered at the corner (1, 1) from outside, plus a polynomial.

    Neumann sides hold Im f.
    """
    k = np.arange(1, poles + 1)
    away = 1.0 * np.exp(-4 * (math.sqrt(poles) - np.sqrt(k)))
    where, direction = away, chains["direction"]
    pole = 1 + 1j + direction * where

    def columns(at: Any) -> Any:
        w = (at - 0.9 - 0.9j) / 1.5
        return np.hstack([where / (at[:, None] - pole), w[:, None] ** np.arange(degree + 1)])

    rows, values = [], []
    for at, kind, value in chains["rows"]:
        full = columns(at)
        extra = np.zeros((len(at), unknown_constants))
        if kind == "re":
            rows.append(np.hstack([full.real, -full.imag, extra]))
            values.append(np.full(len(at), value))
        else:
            if value is not None:
                extra[:, value] = -1
            rows.append(np.hstack([full.imag, full.real, extra]))
            values.append(np.zeros(len(at)))
    A, b = np.vstack(rows), np.concatenate(values)
    size = np.linalg.norm(A, axis=0)
    size[size == 0] = 1
    c = np.linalg.lstsq(A / size, b, rcond=1e-15)[0] / size
    n = poles + degree + 1

    def f(X: Any, Y: Any) -> Any:
        X, Y = np.broadcast_arrays(np.asarray(X, float), np.asarray(Y, float))
        full = columns((X + 1j * Y).ravel())
        return (full.real @ c[:n] - full.imag @ c[n : 2 * n]).reshape(X.shape)

    return f


def _l_lightning() -> Any:
    h = _half_way
    near = np.exp(-np.linspace(0, 30, 300))
    rows = [
        (1 + 1j + near, "im", None),
        (1 + 1j + 1j * near, "im", None),
        (2 + 1j * h, "re", 0.0),
        (h + 2j, "re", 1.0),
        (2 * h + 0j, "im", 0),
        (2j * h, "im", 0),
    ]
    return {"u": lightning({"direction": np.exp(0.25j * np.pi), "rows": rows}, 1)}


@stated(
    "shape",
    "electricity",
    "Hall: L-shaped conductor",
    tags="L-shape, singularity, mixed",
    tol=1e-6,
    numeric=_l_powers,
    second=_l_lightning,
    accuracy=1e-9,
    second_tol=1e-6,
    patch=5e-3,
    residual_tol=1e-4,
)
def bent_conductor(p: Any) -> Any:
    """Current around a bend: 1 V and 0 V at the ends, insulated sides."""
    u = u_of(x, y)
    shape = p.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
    return p.Problem(
        shape,
        [sp.Eq(laplacian(u), 0)],
        [p.Dirichlet(u, 0, on=sp.Eq(x, 2)), p.Dirichlet(u, 1, on=sp.Eq(y, 2)), p.Neumann(u, 0)],
    )


def _coax_powers() -> Any:
    h, one = _half_way, np.ones(200)
    f = _corner_powers(
        -np.pi / 2,
        "sin",
        [
            (2 * one, 2 * h, "u", 0),
            (2 * h, 2 * one, "u", 0),
            (0 * one, 1 + h, "x", 0),
            (1 + h, 0 * one, "y", 0),
        ],
        offset=1.0,
    )
    return {"u": lambda X, Y: f(np.abs(X), np.abs(Y))}


def _coax_lightning() -> Any:
    h = _half_way
    near = np.exp(-np.linspace(0, 30, 300))
    rows = [
        (1 + 1j - near, "re", 1.0),
        (1 + 1j - 1j * near, "re", 1.0),
        (2 + 2j * h, "re", 0.0),
        (2 * h + 2j, "re", 0.0),
        (1 + h + 0j, "im", None),
        (1j + 1j * h, "im", 0),
    ]
    f = lightning({"direction": np.exp(1.25j * np.pi), "rows": rows}, 1)
    return {"u": lambda X, Y: f(np.abs(X), np.abs(Y))}


@stated(
    "shape",
    "electrostatics",
    "Cockcroft: square coaxial line",
    tags="polygon with a hole, singularity",
    tol=1e-6,
    numeric=_coax_powers,
    second=_coax_lightning,
    accuracy=1e-9,
    second_tol=1e-6,
    patch=5e-3,
    residual_tol=1e-4,
)
def square_coax(p: Any) -> Any:
    """A square conductor at 1 V in a square shield at 0 V: four re-entrant corners."""
    u = u_of(x, y)
    shape = p.Polygon(
        (x, y), [(-2, -2), (2, -2), (2, 2), (-2, 2)], holes=[[(-1, -1), (1, -1), (1, 1), (-1, 1)]]
    )
    inner = sp.And(sp.Abs(x) < R(3, 2), sp.Abs(y) < R(3, 2))
    return p.Problem(shape, [sp.Eq(laplacian(u), 0)], [p.Dirichlet(u, 1, on=inner), p.Dirichlet(u, 0)])


_wall = 20 + (50 * R(49, 100) / 4) / (R(3, 10) * 2)


_coat = _wall + 50 * R(49, 100) / 2 / R(3, 10) * sp.log(2 / sp.sqrt(RADIUS_SQUARED))


_core = (
    _wall + 50 * R(49, 100) / 2 / R(3, 10) * sp.log(R(20, 7)) + 50 * (R(49, 100) - RADIUS_SQUARED) / (4 * 40)
)


def _cable_jump() -> Any:
    at = {x: 0.7 * math.cos(1.0), y: 0.7 * math.sin(1.0)}

    def slope(e: Any) -> Any:
        return float((e.diff(x) * math.cos(1.0) + e.diff(y) * math.sin(1.0)).subs(at))

    return max(abs(float((_core - _coat).subs(at))) / 40, abs(40 * slope(_core) - 0.3 * slope(_coat)) / 17.5)


@stated(
    "shape",
    "electrical engineering",
    "Incropera: insulated wire",
    tags="disc in disc, circular inclusion, flux form, Robin",
    tol=1e-6,
    exact={"u": sp.Piecewise((_core, R(49, 100) > RADIUS_SQUARED), (_coat, True))},
    extra=_cable_jump,
)
def insulated_wire(p: Any) -> Any:
    """A heated core (k = 40) in insulation (k = 0.3), cooled by air at 20 degrees."""
    u = u_of(x, y)
    core = p.Disk((x, y), (0, 0), 0.7)
    k, heat = sp.Piecewise((40, core.inside), (R(3, 10), True)), sp.Piecewise((50, core.inside), (0, True))
    return p.Problem(
        p.Disk((x, y), (0, 0), 2), [sp.Eq(p.div(k * p.grad(u)), -heat)], [p.Robin(u, 40, alpha=2, beta=1)]
    )


_coulomb = 1 / sp.sqrt((x - R(3, 2)) ** 2 + (y - R(1, 5)) ** 2 + (z + R(2, 5)) ** 2)


@stated("solid", "electrostatics", "Jackson", tags="3d", tol=1e-6, exact={"u": _coulomb})
def charge_beside_box(p: Any) -> Any:
    """The potential in a cube of a point charge outside, half a unit from its face."""
    u = u_of(x, y, z)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1), z: (0, 1)}),
        [sp.Eq(laplacian(u, x, y, z), 0)],
        [p.Dirichlet(u, _coulomb)],
    )


_stub = sp.sinh(BESSEL_ZERO * (R(3, 2) - z)) / sp.sinh(R(3, 2) * BESSEL_ZERO)


@stated(
    "solid",
    "electrostatics",
    "Jackson: can",
    tags="3d, cylinder",
    tol=1e-6,
    exact={"u": sp.besselj(1, BESSEL_ZERO * RADIUS) * x / RADIUS * _stub},
)
def metal_can(p: Any) -> Any:
    """A grounded can whose bottom is held at J1(k r) cos(theta)."""
    u = u_of(x, y, z)
    bottom = x * BESSEL_ZERO / 2 * (sp.besselj(0, BESSEL_ZERO * RADIUS) + sp.besselj(2, BESSEL_ZERO * RADIUS))
    return p.Problem(
        p.Disk((x, y), (0, 0), 1).extruded(z, 0, 1.5),
        [sp.Eq(laplacian(u, x, y, z), 0)],
        [p.Dirichlet(u, bottom, on=sp.Eq(z, 0)), p.Dirichlet(u, 0)],
    )
