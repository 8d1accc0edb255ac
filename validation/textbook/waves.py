"""Textbook problems: waves and quantum mechanics."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
import sympy as sp

from validation.references.series import summed
from validation.statements.statement import stated
from validation.statements.symbols import SPLIT, SQUARE, laplacian, pi, t, u_of, v_of, x, y
from validation.statements.types import Array, References


@stated("ode", "optics", "Olver style", tags="oscillation, smooth", exact={"u": sp.airyai(-t)})
def airy_rainbow(p: Any) -> Any:
    """Airy's function towards its oscillations."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 25),
        [u.diff(t, 2) + t * u],
        [p.Initial(u, sp.airyai(0).evalf(20)), p.Initial(u.diff(t), -sp.airyaiprime(0).evalf(20))],
    )


@stated(
    "ode",
    "acoustics",
    "Watson style",
    tags="smooth, oscillation, end condition",
    exact={"u": sp.besselj(0, x)},
)
def bessel_outwards(p: Any) -> Any:
    """Bessel's equation from value and slope at the left end."""
    u = u_of(x)
    slope = -sp.besselj(1, 1).evalf(20)
    return p.Problem(
        p.Interval(x, 1, 40),
        [x * u.diff(x, 2) + u.diff(x) + x * u],
        [
            p.Dirichlet(u, sp.besselj(0, 1).evalf(20), on=sp.Eq(x, 1)),
            p.Condition(sp.Eq(u.diff(x), slope), on=sp.Eq(x, 1)),
        ],
    )


@stated(
    "ode",
    "optics",
    "Hecht style",
    tags="oscillation",
    exact={"u": sp.sqrt(pi / 2) * sp.fresnelc(sp.sqrt(2 / pi) * t)},
)
def chirp(p: Any) -> Any:
    """An integral of faster and faster oscillations."""
    u = u_of(t)
    return p.Problem(p.Interval(t, 0, 12), [sp.Eq(u.diff(t), sp.cos(t**2))], [p.Initial(u, 0)])


_eps = sp.Rational(1, 10000)


@stated(
    "bvp",
    "numerical analysis",
    "Ascher-Mattheij-Russell style",
    tags="layer, turning point",
    exact={"u": sp.cos(pi * x) + sp.erf(x / sp.sqrt(2 * _eps)) / sp.erf(1 / sp.sqrt(2 * _eps))},
)
def turning_point(p: Any) -> Any:
    """A shock-like layer where the velocity changes sign."""
    u = u_of(x)
    right = -_eps * pi**2 * sp.cos(pi * x) - pi * x * sp.sin(pi * x)
    return p.Problem(
        p.Interval(x, -1, 1),
        [sp.Eq(_eps * u.diff(x, 2) + x * u.diff(x), right)],
        [p.Dirichlet(u, -2, on=sp.Eq(x, -1)), p.Dirichlet(u, 0, on=sp.Eq(x, 1))],
    )


@stated(
    "bvp",
    "quantum mechanics",
    "Griffiths style",
    tags="turning point, oscillation",
    exact={"u": sp.airyai(x * sp.Rational(10000) ** sp.Rational(1, 3))},
)
def wkb_turning_point(p: Any) -> Any:
    """Oscillating on the left, dying on the right."""
    u, big = u_of(x), 10000 ** (1 / 3)
    return p.Problem(
        p.Interval(x, -1, 1),
        [1e-4 * u.diff(x, 2) - x * u],
        [
            p.Dirichlet(u, float(scipy.special.airy(-big)[0]), on=sp.Eq(x, -1)),
            p.Dirichlet(u, float(scipy.special.airy(big)[0]), on=sp.Eq(x, 1)),
        ],
    )


@stated(
    "bvp", "acoustics", "Kinsler style", tags="oscillation", exact={"u": sp.sin(100 * (1 - x)) / sp.sin(100)}
)
def organ_pipe(p: Any) -> Any:
    """Sixteen wavelengths in a pipe."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [u.diff(x, 2) + 10000 * u],
        [p.Dirichlet(u, 1, on=sp.Eq(x, 0)), p.Dirichlet(u, 0, on=sp.Eq(x, 1))],
    )


_kappa2 = pi**2 + sp.Rational(1, 1000)


_kappa = sp.sqrt(_kappa2)


@stated(
    "bvp",
    "acoustics",
    "Morse-Ingard style",
    tags="near resonance",
    exact={
        "u": x * (1 - x) / _kappa2
        + 2
        / _kappa2**2
        * (1 - sp.cos(_kappa * x) - (1 - sp.cos(_kappa)) / sp.sin(_kappa) * sp.sin(_kappa * x))
    },
    accuracy=1e-12,
)
def near_resonance(p: Any) -> Any:
    """A string driven just beside its lowest tone."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2) + _kappa2 * u, x * (1 - x))], [p.Dirichlet(u, 0)]
    )


def _ring_potential(modes: int) -> References:
    """-u'' + (2 + cos x) u = exp(sin x), periodic, by Fourier collocation on 2*modes + 1 points."""
    m = 2 * modes + 1
    s = 2 * np.pi * np.arange(m) / m
    k = np.arange(-modes, modes + 1)
    shapes = np.exp(1j * np.outer(s, k))
    matrix = shapes * (k**2)[None, :] + (2 + np.cos(s))[:, None] * shapes
    found = np.linalg.solve(matrix, np.exp(np.sin(s)).astype(complex))
    return {"u": lambda q: np.reshape(np.real(np.exp(1j * np.outer(np.ravel(q), k)) @ found), np.shape(q))}


@stated(
    "bvp",
    "quantum mechanics",
    "Kittel style",
    tags="smooth, periodic",
    numeric=lambda: _ring_potential(32),
    second=lambda: _ring_potential(24),
    accuracy=1e-13,
)
def ring_potential(p: Any) -> Any:
    """A particle on a ring with a periodic potential and a source."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 2 * pi),
        [sp.Eq(-u.diff(x, 2) + (2 + sp.cos(x)) * u, sp.exp(sp.sin(x)))],
        [p.Periodic(u, x)],
    )


_plane = sp.cos(20 * (sp.Rational(3, 5) * x + sp.Rational(4, 5) * y))


@stated("elliptic", "acoustics", "Pierce style", tags="2d, oscillation", exact={"u": _plane})
def plane_wave(p: Any) -> Any:
    """A plane wave through a room, three wavelengths wide."""
    u = u_of(x, y)
    return p.Problem(p.Box(SQUARE), [laplacian(u) + 400 * u], [p.Dirichlet(u, _plane)])


_modes = sp.sin(6 * pi * x) * sp.sin(5 * pi * y) + x * y


@stated("elliptic", "acoustics", "Haberman style", tags="2d, oscillation", exact={"u": _modes})
def membrane_driven(p: Any) -> Any:
    """A driven membrane with several wavelengths."""
    u = u_of(x, y)
    return p.Problem(
        p.Box(SQUARE),
        [sp.Eq(laplacian(u) + 150 * u, sp.expand(laplacian(_modes) + 150 * _modes))],
        [p.Dirichlet(u, x * y)],
    )


@stated(
    "evolution",
    "acoustics",
    "Strauss style",
    tags="time, oscillation, long evolution",
    exact={"u": sp.sin(pi * x) * sp.cos(pi * t) + sp.sin(3 * pi * x) * sp.sin(3 * pi * t) / 3},
)
def string_tones(p: Any) -> Any:
    """Two tones of a string over five periods."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 10),
        [sp.Eq(u.diff(t, 2), u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, sp.sin(pi * x)), p.Initial(u.diff(t), pi * sp.sin(3 * pi * x))],
    )


def _plucked(xs: Array, ts: Array) -> Array:
    """D'Alembert with the odd periodic extension of the triangle."""

    def hat(s: Array) -> Array:
        m = np.mod(s, 2.0)
        sign = np.where(m > 1, -1.0, 1.0)
        m = np.where(m > 1, 2 - m, m)
        return sign * np.where(m < 0.3, m / 0.3, (1 - m) / 0.7)

    return (hat(np.asarray(xs) - np.asarray(ts)) + hat(np.asarray(xs) + np.asarray(ts))) / 2


def _parallelogram_defect() -> float:
    """Every solution of u_tt = u_xx, kinked or not, has u(x+h, t) + u(x-h, t) = u(x, t+h) + u(x, t-h)."""
    rng = np.random.default_rng(1)
    h = rng.uniform(0.01, 0.3, 2000)
    a, b = h + (1 - 2 * h) * rng.random(2000), h + (1 - 2 * h) * rng.random(2000)
    return float(
        np.max(np.abs(_plucked(a + h, b) + _plucked(a - h, b) - _plucked(a, b + h) - _plucked(a, b - h)))
    )


def _plucked_series() -> References:
    n = np.arange(1.0, 6000.0)

    def term(k: Any, a: Any, b: Any) -> Any:
        return (
            (2 / 0.21)
            / (np.pi * k) ** 2
            * np.sin(0.3 * k * np.pi)
            * np.sin(k * np.pi * a)
            * np.cos(k * np.pi * b)
        )

    return {"u": lambda a, b: summed(term, n, a, b)}


@stated(
    "evolution",
    "acoustics",
    "Haberman style",
    tags="time, jump",
    numeric=lambda: {"u": _plucked},
    second=_plucked_series,
    accuracy=1e-15,
    second_tol=1e-4,
    tol=1e-3,
    patch=1e-4,
    residual_tol=float("inf"),
    extra=_parallelogram_defect,
)
def plucked_string(p: Any) -> Any:
    """A string drawn to a corner and let go: kinks travel (the second reference is a slow series)."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(u.diff(t, 2), u.diff(x, 2))],
        [
            p.Dirichlet(u, 0),
            p.Initial(u, sp.Piecewise((x / SPLIT, x < SPLIT), ((1 - x) / (1 - SPLIT), True))),
            p.Initial(u.diff(t), 0),
        ],
    )


_phase = t / 2 + x * sp.sin(t) - sp.sin(2 * t) / 4


_bell = pi ** sp.Rational(-1, 4) * sp.exp(-((x - sp.cos(t)) ** 2) / 2)


@stated(
    "evolution",
    "quantum mechanics",
    "Griffiths style",
    tags="time, system, oscillation",
    exact={"u": _bell * sp.cos(_phase), "v": -_bell * sp.sin(_phase)},
    tol=1e-6,
)
def coherent_state(p: Any) -> Any:
    """A packet swinging in a parabola; u + iv is the wave function, which is nothing at the ends."""
    u, v = u_of(x, t), v_of(x, t)

    def energy(e: Any) -> sp.Expr:
        return -e.diff(x, 2) / 2 + x**2 * e / 2

    start = pi ** sp.Rational(-1, 4) * sp.exp(-((x - 1) ** 2) / 2)
    return p.Problem(
        p.Interval(x, -10, 10).during(t, 0, 6),
        [sp.Eq(u.diff(t), energy(v)), sp.Eq(v.diff(t), -energy(u))],
        [p.Dirichlet(u, 0), p.Dirichlet(v, 0), p.Initial(u, start), p.Initial(v, 0)],
    )


_turn = x / 2 + sp.Rational(3, 8) * t


_hump = sp.sech(x - t / 2)


@stated(
    "evolution",
    "optics",
    "Agrawal style",
    tags="time, system, nonlinear",
    exact={"u": _hump * sp.cos(_turn), "v": _hump * sp.sin(_turn)},
    tol=1e-6,
)
def light_soliton(p: Any) -> Any:
    """A soliton of the cubic Schroedinger equation, moving at half speed."""
    u, v = u_of(x, t), v_of(x, t)
    power = u**2 + v**2
    edge = {"u": _hump * sp.cos(_turn), "v": _hump * sp.sin(_turn)}
    return p.Problem(
        p.Interval(x, -8, 8).during(t, 0, 2),
        [sp.Eq(u.diff(t), -v.diff(x, 2) / 2 - power * v), sp.Eq(v.diff(t), u.diff(x, 2) / 2 + power * u)],
        [
            p.Dirichlet(u, edge["u"]),
            p.Dirichlet(v, edge["v"]),
            p.Initial(u, edge["u"].subs(t, 0)),
            p.Initial(v, edge["v"].subs(t, 0)),
        ],
    )


_breather = 4 * sp.atan(sp.Rational(4, 3) * sp.sin(sp.Rational(3, 5) * t) / sp.cosh(sp.Rational(4, 5) * x))


@stated(
    "evolution",
    "quantum mechanics",
    "Rajaraman style",
    tags="time, nonlinear, oscillation",
    exact={"u": _breather},
    tol=1e-6,
)
def breather(p: Any) -> Any:
    """A breather of the sine-Gordon equation."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -8, 8).during(t, 0, 10),
        [sp.Eq(u.diff(t, 2), u.diff(x, 2) - sp.sin(u))],
        [p.Dirichlet(u, _breather), p.Initial(u, 0), p.Initial(u.diff(t), _breather.diff(t).subs(t, 0))],
    )


_drum = sp.sin(pi * x) * sp.sin(pi * y) * sp.cos(sp.sqrt(2) * pi * t)


@stated("evolution", "acoustics", "Strauss style", tags="time, 2d, oscillation", exact={"u": _drum}, tol=1e-7)
def square_drum(p: Any) -> Any:
    """The lowest tone of a square drum."""
    u = u_of(x, y, t)
    return p.Problem(
        p.Box(SQUARE).during(t, 0, 2),
        [sp.Eq(u.diff(t, 2), laplacian(u))],
        [p.Dirichlet(u, 0), p.Initial(u, sp.sin(pi * x) * sp.sin(pi * y)), p.Initial(u.diff(t), 0)],
    )
