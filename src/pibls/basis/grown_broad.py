r"""A broad basis A = [Z | H] to which feature and enhancement nodes are added in stages.

`added_nodes` extracts the nodes of the last stages; `coefficient_order` is the permutation from columns in
the order of addition to those of the final basis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.broad import Broad, BroadBasis
from pibls.basis.checks import check_integer
from pibls.basis.joined import JoinedBasis
from pibls.basis.protocol import Basis
from pibls.errors import ProblemError


@dataclass(frozen=True)
class GrownBroad:
    """A broad basis and the nodes added to it, in the order in which they were added.

    Parameters
    ----------
    base
        The initial basis. Its range R, activations, whitening and refinement also apply to added nodes.
    added
        (feature nodes, enhancement nodes) of each addition. An addition is one group of each kind; its
        enhancement nodes depend on all feature nodes present at that time.

    >>> GrownBroad(Broad(10, 10, 4, 10, scale=3.9), ((0, 14), (20, 0))).size
    174
    """

    base: Broad
    added: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for addition in self.added:
            for count in addition:
                check_integer(count, "GrownBroad(added)", least=0)
            if len(addition) != 2 or not any(addition):
                raise ProblemError(
                    "GrownBroad(added)",
                    expected="pairs (feature nodes, enhancement nodes), not both 0",
                    got=repr(addition),
                    remedy="Write added=((0, 20),) for 20 enhancement nodes.",
                )

    @property
    def size(self) -> int:
        """The number of nodes, added ones included."""
        return self.base.size + sum(map(sum, self.added))

    def draw(self, box: Array, rng: np.random.Generator) -> BroadBasis:
        return self.stages(box, rng)[-1]

    def stages(self, box: Array, rng: np.random.Generator) -> list[BroadBasis]:
        """Return the initial basis and the basis after each addition."""
        out = [self.base.draw(box, rng)]
        for features, enhancement in self.added:
            out.append(self.base.extended(out[-1], features, enhancement, rng))
        return out


def as_grown(basis: object) -> GrownBroad | None:
    """Return a broad basis as one to which nodes can be added; None for any other basis."""
    if isinstance(basis, Broad):
        return GrownBroad(basis)
    return basis if isinstance(basis, GrownBroad) else None


def added_nodes(earlier: BroadBasis | None, basis: BroadBasis) -> Basis:
    """Return the nodes added since an earlier stage of a basis: feature nodes, then enhancement nodes."""
    if earlier is None:
        return basis
    first, old = earlier.features.size, len(earlier.offsets)
    new: list[Basis] = []
    if first < basis.features.size:
        layer = basis.features.nodes_from(first)
        new.append(BroadBasis(layer, np.empty((layer.size, 0)), np.empty(0), basis.outer))
    if old < len(basis.offsets):
        later = BroadBasis(basis.features, basis.inner[:, old:], basis.offsets[old:], basis.outer)
        new.append(EnhancementNodes(later))
    return new[0] if len(new) == 1 else JoinedBasis(tuple(new))


def coefficient_order(stages: Sequence[BroadBasis], unknowns: int) -> list[int]:
    """Return, for each coefficient of the last stage, its index among the columns ordered by addition.

    The columns of an addition are its feature nodes, then its enhancement nodes, for one unknown after
    another.
    """
    keys: list[tuple[int, int, int, int]] = []
    features = enhancement = 0
    for stage, basis in enumerate(stages):
        new = basis.features.size - features, len(basis.offsets) - enhancement
        for unknown in range(unknowns):
            keys += [(unknown, kind, stage, i) for kind in (0, 1) for i in range(new[kind])]
        features, enhancement = basis.features.size, len(basis.offsets)
    return sorted(range(len(keys)), key=keys.__getitem__)


@dataclass(frozen=True)
class EnhancementNodes:
    """H alone: the enhancement nodes of a broad basis, without its feature nodes."""

    basis: BroadBasis

    @property
    def size(self) -> int:
        return len(self.basis.offsets)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        return self.basis.enhancement(X, alphas)
