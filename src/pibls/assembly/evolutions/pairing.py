r"""∂: {f : f(±1) = 0} → P → {f : f(±1) = 0}: which unknowns of a system have modes in common along each wall.

Between walls ∂² has modes among the functions that meet the conditions. ∂ takes them to others, and those
back: an unknown that stands an odd number of derivatives from one with conditions is made of ∂ of its
modes (a velocity and a pressure, the fields of light), one that stands an even number away of the modes
themselves. Round a period every derivative is a number. Terms for which that cannot be, such as a wind, or
between unknowns that meet different conditions, are left out, the highest derivatives last.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from pibls.arrays import MultiIndex

Coupling = tuple[int, int, MultiIndex]
"""The unknown whose equation it is, the unknown that it has, derivatives in space."""
Parity = tuple[int, ...]


@dataclass(frozen=True)
class Pairing:
    """Unknowns that are solved together, with their parities along the coordinates."""

    groups: tuple[dict[int, Parity], ...]
    left_out: frozenset[Coupling]

    @classmethod
    def of(
        cls,
        kinds: Sequence[Sequence[Hashable | None]],
        repeated: Sequence[bool],
        couplings: Iterable[Coupling],
    ) -> Pairing:
        """``kinds`` are, of each unknown and coordinate, the conditions at the ends, None without any."""
        groups = {k: {k: (0,) * len(repeated)} for k in range(len(kinds))}
        left_out = set()
        for coupling in sorted(set(couplings), key=lambda c: (-sum(c[2]), c)):
            row, k, alpha = coupling
            odd = tuple(0 if yes else o % 2 for o, yes in zip(alpha, repeated, strict=True))
            mine, other = groups[row], groups[k]
            off = tuple((a + b + o) % 2 for a, b, o in zip(mine[row], other[k], odd, strict=True))
            if mine is other:
                if any(off):
                    left_out.add(coupling)
                continue
            both = mine | {j: _sum(p, off) for j, p in other.items()}
            if not all(_alike(kinds, both, i) for i, yes in enumerate(repeated) if not yes):
                left_out.add(coupling)
                continue
            groups.update(dict.fromkeys(both, both))
        return cls(tuple({id(g): g for g in groups.values()}.values()), frozenset(left_out))


def _sum(a: Parity, b: Parity) -> Parity:
    return tuple((i + j) % 2 for i, j in zip(a, b, strict=True))


def _alike(kinds: Sequence[Sequence[Hashable | None]], group: dict[int, Parity], axis: int) -> bool:
    """Whether all that have conditions along a coordinate have the same, and the same parity."""
    found = {(kinds[k][axis], parity[axis]) for k, parity in group.items() if kinds[k][axis] is not None}
    return len(found) < 2
