r"""Random Fourier features a(x) = cos(w·x), sin(w·x) with evenly distributed random frequencies w.

They span the same space as sine features with random phases, but frequencies are drawn more evenly: they
follow a shifted Sobol sequence in the half ball |w| ≤ R (stratified in 1D), and each gives a sine and a
cosine. Compared with independent draws, the largest error of ten seeds is up to 40 times smaller, and one
sine and one cosine serve two columns and all derivatives.

In three or more dimensions some frequencies depend on one or two coordinates only, because solutions are
often sums of functions of few variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.checks import check_integer, check_positive_scale
from pibls.basis.cube_points import sobol
from pibls.basis.protocol import Operator
from pibls.basis.sincos import cos_and_sin
from pibls.errors import ProblemError
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class RandomFourierFeatures:
    """cos(w·x) and sin(w·x) with |w| ≤ ``scale``, for inputs mapped to [-1, 1]. Public as `pibls.Waves`.

    Parameters
    ----------
    nodes
        Number of functions (an odd number is rounded up, since functions come in pairs).
    scale
        The largest frequency R, or one value per coordinate.
    groups
        Further frequencies that depend on some coordinates only: tuples (coordinates, nodes, scale), added
        to the ``nodes`` that depend on all coordinates.

    >>> Waves(100, scale=8.0).size
    100
    """

    nodes: int
    scale: float | tuple[float, ...]
    groups: tuple[tuple[tuple[int, ...], int, float], ...] = ()

    def __post_init__(self) -> None:
        check_integer(self.nodes, "Waves(nodes)", least=1)
        for s in self.scale if isinstance(self.scale, tuple) else (self.scale,):
            check_positive_scale(s, "Waves(scale)")

    @property
    def size(self) -> int:
        return 2 * sum((n + 1) // 2 for n in (self.nodes, *(g[1] for g in self.groups)))

    def draw(self, box: Array, rng: np.random.Generator) -> RandomFourierBasis:
        return RandomFourierBasis.on_box(box, self.frequencies(len(box), rng))

    def frequencies(self, d: int, rng: np.random.Generator) -> Array:
        """Random frequencies in d coordinates, (d, M/2)."""
        if isinstance(self.scale, tuple) and len(self.scale) != d:
            raise ProblemError(
                "Waves(scale)",
                expected=f"one number, or one for each of the {d} coordinates",
                got=self.scale,
                remedy="Give one scale per coordinate of the domain, time included.",
            )
        parts = [half_ball((self.nodes + 1) // 2, d, rng) * np.reshape(self.scale, (-1, 1))]
        for coordinates, nodes, scale in self.groups:
            part = np.zeros((d, (nodes + 1) // 2))
            part[list(coordinates)] = scale * half_ball(part.shape[1], len(coordinates), rng)
            parts.append(part)
        return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]


Waves = RandomFourierFeatures
"""The public name."""


def half_ball(n: int, d: int, rng: np.random.Generator) -> Array:
    """n vectors (d, n) spread evenly over one half of the unit ball: w and -w give the same functions."""
    if d == 1:
        return np.asarray(((np.arange(n) + rng.random(n)) / n)[None, :])
    U = sobol(n, d, rng)
    if d == 2:
        angle = np.pi * U[:, 1]
        direction = np.array([np.cos(angle), np.sin(angle)])
    elif d == 3:
        height, angle = U[:, 1], 2.0 * np.pi * U[:, 2]
        ring = np.sqrt(1.0 - height**2)
        direction = np.array([ring * np.cos(angle), ring * np.sin(angle), height])
    else:
        direction = rng.standard_normal((d, n))
        direction /= np.linalg.norm(direction, axis=0)
    return np.asarray(U[:, 0] ** (1.0 / d) * direction)


def coordinate_subsets(d: int) -> list[tuple[int, ...]]:
    """All sets of one or two of d coordinates."""
    return [c for k in (1, 2) for c in combinations(range(d), k)]


@dataclass(frozen=True)
class RandomFourierBasis:
    """Drawn random Fourier features: frequencies (d, M/2), for inputs (x - centre)/half.

    The first half of the functions, the cosines, are even about the centre, the others odd.
    """

    frequencies: Array
    centre: Array
    half: Array
    _known: dict[MultiIndex, tuple[Array, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Cache of the factors of ∂^α by α: equations need the same few derivatives everywhere."""

    @classmethod
    def on_box(cls, box: Array, frequencies: Array) -> RandomFourierBasis:
        """The features for inputs from ``box`` (d, 2), mapped to [-1, 1]^d."""
        low, high = box.T
        return cls(frequencies, 0.5 * (low + high), 0.5 * (high - low))

    @property
    def size(self) -> int:
        return 2 * int(self.frequencies.shape[1])

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        return self.apply_operators(X, [((alpha, 1.0),) for alpha in alphas])

    def apply_operators(
        self, X: Array, operators: Sequence[Operator], targets: Mapping[Operator, Array] | None = None
    ) -> list[Array]:
        """Return Σ c ∂^α A (N, M) for each operator.

        Terms of even order multiply (cos, sin), terms of odd order (sin, cos). ``targets``: output arrays for
        some of the operators.
        """
        cosine, sine = self.cos_and_sin(X)
        m = cosine.shape[1]
        out = []
        for terms in operators:
            target = None if targets is None else targets.get(terms)
            A = np.empty((len(X), 2 * m), order="F") if target is None else target
            filled = False
            for odd in (0, 1):
                found = [(c, *self._factors(alpha)) for alpha, c in terms if sum(alpha) % 2 == odd]
                if not found:
                    continue
                one, two = (sine, cosine) if odd else (cosine, sine)
                c, first, second = found[0]
                if len(found) > 1 or c != 1.0:
                    first, second = c * first, c * second
                    for c, more, other in found[1:]:
                        first += c * more
                        second += c * other
                if filled:
                    A[:, :m] += one * first
                    A[:, m:] += two * second
                else:
                    np.multiply(one, first, out=A[:, :m])
                    np.multiply(two, second, out=A[:, m:])
                filled = True
            out.append(A)
        return out

    def rescaled(self, centre: Array, half: Array) -> RandomFourierBasis:
        """Return the same functions in the coordinates (x - centre)/half."""
        return RandomFourierBasis(self.frequencies, (self.centre - centre) / half, self.half / half)

    def linear_combinations(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """Return ∂^α A w for each wanted (α, w), (wanted, N), without forming ∂^α A."""
        cosine, sine = self.cos_and_sin(X)
        m = cosine.shape[1]
        C, S = np.empty((m, len(wanted))), np.empty((m, len(wanted)))
        for i, (alpha, w) in enumerate(wanted):
            first, second = (f * part for f, part in zip(self._factors(alpha), (w[:m], w[m:]), strict=True))
            C[:, i], S[:, i] = (first, second) if sum(alpha) % 2 == 0 else (second, first)
        return np.asarray((cosine @ C + sine @ S).T)

    def cos_and_sin(self, X: Array) -> tuple[Array, Array]:
        """Return cos(w·x) and sin(w·x), (N, M/2) each."""
        return cos_and_sin((self.frequencies.T @ ((X - self.centre) / self.half).T).T)

    def _factors(self, alpha: MultiIndex) -> tuple[Array, Array]:
        """Signs and powers of w: (cos, sin)⁽ᵏ⁾ = (cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos), …."""
        if alpha not in self._known:
            self._known[alpha] = self._signed_powers(alpha)
        return self._known[alpha]

    def _signed_powers(self, alpha: MultiIndex) -> tuple[Array, Array]:
        powers = [w if a == 1 else w**a for w, a in zip(self._slopes, alpha, strict=True) if a]
        factor = powers[0] if powers else np.ones(self.frequencies.shape[1])
        for power in powers[1:]:
            factor = factor * power
        order, negative = sum(alpha) % 4, -factor
        return factor if order in (0, 3) else negative, factor if order in (0, 1) else negative

    @cached_property
    def _slopes(self) -> Array:
        """∂/∂x of w·(x - centre)/half, (d, M/2)."""
        return self.frequencies / self.half[:, None]


def is_half_even_half_odd(basis: object) -> bool:
    """Whether the first half of the functions is even about the centre of the box and the second half odd."""
    return isinstance(basis, RandomFourierBasis)
