r"""B = B₁ ∪ B₂, each divided again or not: a tree of axis-parallel cells over a bounding box.

A cell is a leaf; a plane that divides a box is a branch. Two cells are neighbours where their boxes share a
face of positive size, whatever their sizes. The tree is also the order of elimination: faces between two
halves go last (nested dissection).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.caching import cached_property

Side = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Branch:
    """x_axis < level on one side, the rest on the other."""

    axis: int
    level: float
    low: Node
    high: Node


Node = Branch | None
"""None is a leaf."""


@dataclass(frozen=True)
class Joint:
    """A face that the cells ``low`` and ``high`` share, across an axis: its extent (d, 2), flat in the axis.

    ``shift`` is how far along the axis the upper cell's side lies from the lower one's: zero between
    neighbours, minus the period where the two ends of a periodic coordinate meet.
    """

    low: int
    high: int
    axis: int
    box: Array
    shift: float = 0.0


@dataclass(frozen=True)
class CellTree:
    """The box and how it is divided; leaves are numbered from the low sides to the high ones."""

    box: Side
    root: Node = None

    @classmethod
    def over(cls, box: Array) -> CellTree:
        """One cell."""
        return cls(tuple((float(a), float(b)) for a, b in box))

    @classmethod
    def cut(cls, box: Array, planes: Sequence[tuple[int, float]]) -> CellTree:
        """One cell, divided at all of these planes (axis, level)."""
        return cls.over(box).refine(lambda _, b: crossed(planes))

    @classmethod
    def grid(cls, box: Array, counts: tuple[int, ...]) -> CellTree:
        """counts[i] equal cells along each axis, divided in the middle again and again."""
        tree = cls.over(box)
        edges = [np.linspace(a, b, n + 1) for (a, b), n in zip(tree.box, counts, strict=True)]

        def divide(ranges: tuple[tuple[int, int], ...]) -> Node:
            lengths = [stop - start for start, stop in ranges]
            axis = int(np.argmax(lengths))
            if lengths[axis] <= 1:
                return None
            start, stop = ranges[axis]
            middle = (start + stop) // 2
            halves = [
                divide(tuple(part if i == axis else r for i, r in enumerate(ranges)))
                for part in ((start, middle), (middle, stop))
            ]
            return Branch(axis, float(edges[axis][middle]), *halves)

        return cls(tree.box, divide(tuple((0, n) for n in counts)))

    def _walk(self, node: Node, box: Side, path: tuple[int, ...]) -> Iterator[tuple[Side, tuple[int, ...]]]:
        if node is None:
            yield box, path
            return
        for side, child in enumerate((node.low, node.high)):
            yield from self._walk(child, _half(box, node, side), (*path, side))

    @cached_property
    def _leaves(self) -> tuple[tuple[Side, tuple[int, ...]], ...]:
        return tuple(self._walk(self.root, self.box, ()))

    @cached_property
    def boxes(self) -> Array:
        """All cells, (M, d, 2)."""
        return np.array([box for box, _ in self._leaves])

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """For each cell the sides taken from the root to it."""
        return tuple(path for _, path in self._leaves)

    def __len__(self) -> int:
        return len(self._leaves)

    def refine(self, division: Callable[[int, Array], Node]) -> CellTree:
        """Each cell divided as ``division(number, box)`` says."""
        count = iter(range(len(self)))

        def visit(node: Node, box: Side) -> Node:
            if node is None:
                return division(next(count), np.array(box))
            low, high = (visit(c, _half(box, node, s)) for s, c in enumerate((node.low, node.high)))
            return Branch(node.axis, node.level, low, high)

        return CellTree(self.box, visit(self.root, self.box))

    def merge(self, joined: Callable[[int, int, tuple[int, float]], bool]) -> CellTree:
        """Two cells of one branch made one where ``joined(low, high, plane)``."""
        count = iter(range(len(self)))

        def visit(node: Node) -> tuple[Node, int | None]:
            if node is None:
                return None, next(count)
            (low, i), (high, j) = visit(node.low), visit(node.high)
            if i is not None and j is not None and joined(i, j, (node.axis, node.level)):
                return None, None
            return Branch(node.axis, node.level, low, high), None

        return CellTree(self.box, visit(self.root)[0])

    def stretched(self, axis: int, low: float, high: float) -> CellTree:
        """The same divisions over another extent along an axis that is not divided."""
        box = tuple((low, high) if i == axis else side for i, side in enumerate(self.box))
        return CellTree(box, self.root)

    def locate(self, X: Array) -> Numbers:
        """The cell of each point; a point on a face belongs to the upper one."""
        out = np.zeros(len(X), dtype=np.intp)
        count = 0

        def visit(node: Node, rows: Numbers) -> None:
            nonlocal count
            if node is None:
                out[rows] = count
                count += 1
                return
            above = X[rows, node.axis] >= node.level
            visit(node.low, rows[~above])
            visit(node.high, rows[above])

        visit(self.root, np.arange(len(X), dtype=np.intp))
        return out

    def joints(self, periodic: tuple[int, ...] = ()) -> list[Joint]:
        """All faces that two cells share; along periodic axes also those where the two ends meet."""
        boxes, out = self.boxes, []
        for axis, (a, b) in enumerate(self.box):
            out += _joined(boxes, axis, boxes[:, axis, 1], 0.0)
            if axis in periodic:
                out += _joined(boxes, axis, np.where(boxes[:, axis, 1] == b, a, np.nan), a - b)
        return out

    def groups(self, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
        """What two cells share, in the order of elimination: whose cells are parted deepest goes first."""
        by_branch: dict[tuple[int, ...], list[int]] = {}
        for number, (low, high) in enumerate(pairs):
            one, two = self.paths[low], self.paths[high]
            depth = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
            by_branch.setdefault(one[:depth], []).append(number)
        return [by_branch[path] for path in sorted(by_branch, key=lambda p: (-len(p), p))]


def _joined(boxes: Array, axis: int, ends: Array, shift: float) -> list[Joint]:
    """The joints of cells that end at ``ends`` with those that begin there, by the numbers of both.

    Only cells at the same level are compared: M^(3/2) pairs in the plane instead of M².
    """
    begins, found = boxes[:, axis, 0], []
    others = [i for i in range(boxes.shape[1]) if i != axis]
    for level in np.intersect1d(ends[~np.isnan(ends)], begins):
        lows, highs = np.flatnonzero(ends == level), np.flatnonzero(begins == level)
        start = np.maximum(boxes[lows][:, None, :, 0], boxes[highs][None, :, :, 0])
        stop = np.minimum(boxes[lows][:, None, :, 1], boxes[highs][None, :, :, 1])
        for i, j in zip(*np.nonzero((stop > start)[:, :, others].all(axis=2)), strict=True):
            box = np.stack([start[i, j], stop[i, j]], axis=1)
            box[axis] = boxes[lows[i], axis, 1]
            found.append(Joint(int(lows[i]), int(highs[j]), axis, box, float(shift)))
    return sorted(found, key=lambda joint: (joint.low, joint.high))


def crossed(planes: Sequence[tuple[int, float]]) -> Node:
    """A cell divided at all of these planes (axis, level), one axis after another, in the middle first."""
    if not planes:
        return None
    axis = planes[0][0]
    own = sorted(level for other, level in planes if other == axis)
    level = own[len(own) // 2]
    rest = [p for p in planes if p != (axis, level)]
    within = [[p for p in rest if p[0] != axis or (p[1] < level) == low] for low in (True, False)]
    return Branch(axis, level, crossed(within[0]), crossed(within[1]))


def graded(box: Array, axes: Sequence[int], place: Array, levels: int) -> Node:
    """A box halved along some axes, and the part with the place again and again."""
    if levels == 0:
        return None

    def divide(left: list[int], here: Array, holds: bool) -> Node:
        if not left:
            return graded(here, axes, place, levels - 1) if holds else None
        axis, *rest = left
        middle = float(here[axis].mean())
        parts = []
        for side in (0, 1):
            half = here.copy()
            half[axis, 1 - side] = middle
            parts.append(divide(rest, half, holds and bool((place[axis] >= middle) == side)))
        return Branch(axis, middle, parts[0], parts[1])

    return divide(list(axes), box, True)


def graded_towards(box: Array, places: Array, levels: int) -> CellTree:
    """A box divided so that no cell is larger than its distance from any of the places, down to tiny ones."""
    tree = CellTree.over(box)
    least = 1e-9 * (box[:, 1] - box[:, 0])
    for place in places:

        def through(_: int, here: Array, place: Array = place) -> Node:
            if np.any((place < here[:, 0]) | (place > here[:, 1])):
                return None
            inner = [
                (i, float(p))
                for i, p in enumerate(place)
                if here[i, 0] + least[i] < p < here[i, 1] - least[i]
            ]
            return crossed(inner)

        def towards(_: int, here: Array, place: Array = place) -> Node:
            if np.any((place < here[:, 0] - least) | (place > here[:, 1] + least)):
                return None
            # A side that ends at the place has it in its lower or in its upper half.
            middle = here.mean(axis=1)
            inwards = place + np.where(place < middle, least, -least)
            return graded(here, range(len(here)), inwards, levels)

        tree = tree.refine(through).refine(towards)
    return tree


def _half(box: Side, node: Branch, side: int) -> Side:
    low, high = box[node.axis]
    part = (low, node.level) if side == 0 else (node.level, high)
    return tuple(part if i == node.axis else ends for i, ends in enumerate(box))
