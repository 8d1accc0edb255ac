"""A tree of cells ↔ two lists: for each node, from the root and the low side first, its axis and its level.

A leaf is 0, a division across axis i is i + 1; levels stand for the divisions alone. The tree of a file is
built without recursion, and is no deeper than any that halving a box in double precision can give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.io.entries import Numbers
from pibls.io.record import Record, damaged
from pibls.spaces import Branch, CellTree

if TYPE_CHECKING:
    from pibls.io.records import Reader, Writer

MAX_DEPTH = 256
"""Divisions inside each other."""


@dataclass(frozen=True)
class Divisions:
    """The root of a `CellTree`."""

    def write(self, value: Any, writer: Writer) -> dict[str, Any]:
        axes: list[int] = []
        levels: list[float] = []
        open_nodes: list[tuple[Branch | None, int]] = [(value, 0)]
        while open_nodes:
            node, depth = open_nodes.pop()
            if depth > MAX_DEPTH:
                raise writer.refusal(f"cells divided at most {MAX_DEPTH} times", "more")
            axes.append(0 if node is None else node.axis + 1)
            if node is not None:
                levels.append(node.level)
                open_nodes += [(node.high, depth + 1), (node.low, depth + 1)]
        return {"axes": axes, "levels": writer.array(np.array(levels))}

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Branch | None:
        inner = record.record(key)
        kinds = inner.wholes("axes", most=axes["d"])
        levels = Numbers("n").read(inner, "levels", reader, {}).tolist()
        if sum(kind > 0 for kind in kinds) != len(levels):
            raise inner.refusal("axes", f"{len(levels)} divisions, one for each level")
        # From the last node to the first, so that both halves are there when their parent is made.
        ready: list[tuple[Branch | None, int]] = []
        for kind in reversed(kinds):
            if kind == 0:
                ready.append((None, 0))
                continue
            if len(ready) < 2:
                raise inner.refusal("axes", "two halves for each division")
            (low, a), (high, b) = ready.pop(), ready.pop()
            depth = 1 + max(a, b)
            if depth > MAX_DEPTH:
                raise damaged(inner.file, f"cells divided at most {MAX_DEPTH} times", "more")
            ready.append((Branch(kind - 1, levels.pop(), low, high), depth))
        if len(ready) != 1:
            raise inner.refusal("axes", "one tree")
        return ready[0][0]


def is_tree(tree: CellTree, d: int) -> str | None:
    """What is wrong with a tree that was read."""
    if len(tree.box) != d:
        return f"a box with {len(tree.box)} sides"
    boxes = tree.boxes
    if not (np.isfinite(boxes).all() and np.all(boxes[:, :, 0] < boxes[:, :, 1])):
        return "cells without an inside"
    return None
