r"""Groups of unknowns of a system on a box that can be expanded in common modes.

Used for the approximate inverse of a time step, the preconditioner of GMRES
(`assembly.evolutions.separable_inverse`): the unknowns of a group are solved for together, mode by mode.

Along a bounded coordinate ∂² has eigenfunctions that satisfy the conditions at the ends; ∂ maps them to a
second family, and that family back to the first. An unknown that is coupled to one with conditions by an
odd number of derivatives is expanded in the second family (velocity and pressure, electric and magnetic
fields), one coupled by an even number in the first. Along a periodic coordinate every derivative is
diagonal. Terms that do not fit, such as advection or couplings between unknowns with different conditions,
are left out of the modes, and reported in `ModeGroups.left_out`; couplings with higher derivatives are
considered first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from pibls.arrays import MultiIndex

Coupling = tuple[int, int, MultiIndex]
"""(unknown of the equation, unknown of the term, derivatives in space)."""
Parity = tuple[int, ...]
"""Along each coordinate 0 for the eigenfunctions that satisfy the conditions, 1 for their derivatives."""


@dataclass(frozen=True)
class ModeGroups:
    """Groups of unknowns that are solved together, with their parities along the coordinates."""

    groups: tuple[dict[int, Parity], ...]
    left_out: frozenset[Coupling]
    """Couplings that the modes do not represent."""

    @classmethod
    def of(
        cls,
        kinds: Sequence[Sequence[Hashable | None]],
        periodic: Sequence[bool],
        couplings: Iterable[Coupling],
    ) -> ModeGroups:
        """Form the groups; ``kinds`` identify the conditions per unknown and coordinate, None without any."""
        groups = {k: {k: (0,) * len(periodic)} for k in range(len(kinds))}
        left_out = set()
        for coupling in sorted(set(couplings), key=lambda c: (-sum(c[2]), c)):
            row, k, alpha = coupling
            odd = tuple(0 if yes else o % 2 for o, yes in zip(alpha, periodic, strict=True))
            mine, other = groups[row], groups[k]
            off = tuple((a + b + o) % 2 for a, b, o in zip(mine[row], other[k], odd, strict=True))
            if mine is other:
                if any(off):
                    left_out.add(coupling)
                continue
            both = mine | {j: _sum(p, off) for j, p in other.items()}
            if not all(_have_common_conditions(kinds, both, i) for i, yes in enumerate(periodic) if not yes):
                left_out.add(coupling)
                continue
            groups.update(dict.fromkeys(both, both))
        return cls(tuple({id(g): g for g in groups.values()}.values()), frozenset(left_out))


def _sum(a: Parity, b: Parity) -> Parity:
    return tuple((i + j) % 2 for i, j in zip(a, b, strict=True))


def _have_common_conditions(
    kinds: Sequence[Sequence[Hashable | None]], group: dict[int, Parity], axis: int
) -> bool:
    """Whether all unknowns with conditions along a coordinate have the same ones, and the same parity."""
    found = {(kinds[k][axis], parity[axis]) for k, parity in group.items() if kinds[k][axis] is not None}
    return len(found) < 2
