"""Codec of a tree of cells as two lists: the axis of each node, and the position of each split.

Nodes are in preorder, the lower half first. A leaf has axis 0, a split across axis i has axis i + 1; only
splits have a position. The tree is built without recursion; its depth is limited to what bisection of a box
in double precision can give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.io.field_codecs import FloatArray
from pibls.io.record import Json, Record, damaged_file
from pibls.spaces import Branch, CellTree

if TYPE_CHECKING:
    from pibls.io.serialization import Reader, Writer

MAX_DEPTH = 256
"""Maximum depth of a tree."""


@dataclass(frozen=True)
class CellTreeCodec:
    """Codec of the root of a `CellTree`."""

    def write(self, value: Any, writer: Writer) -> dict[str, Json]:
        axes: list[int] = []
        levels: list[float] = []
        open_nodes: list[tuple[Branch | None, int]] = [(value, 0)]
        while open_nodes:
            node, depth = open_nodes.pop()
            if depth > MAX_DEPTH:
                raise writer.error(f"cells split at most {MAX_DEPTH} times", "a deeper tree")
            axes.append(0 if node is None else node.axis + 1)
            if node is not None:
                levels.append(node.level)
                open_nodes += [(node.high, depth + 1), (node.low, depth + 1)]
        return {"axes": [*axes], "levels": writer.array(np.array(levels))}

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Branch | None:
        inner = record.record(key)
        kinds = inner.integers("axes", maximum=axes["d"])
        levels = FloatArray("n").read(inner, "levels", reader, {}).tolist()
        if sum(kind > 0 for kind in kinds) != len(levels):
            raise inner.error_at("axes", f"{len(levels)} splits, one for each level")
        # From the last node to the first, so that both halves exist when their parent is created.
        ready: list[tuple[Branch | None, int]] = []
        for kind in reversed(kinds):
            if kind == 0:
                ready.append((None, 0))
                continue
            if len(ready) < 2:
                raise inner.error_at("axes", "two halves for each split")
            (low, a), (high, b) = ready.pop(), ready.pop()
            depth = 1 + max(a, b)
            if depth > MAX_DEPTH:
                raise damaged_file(inner.file, f"cells split at most {MAX_DEPTH} times", "a deeper tree")
            ready.append((Branch(kind - 1, levels.pop(), low, high), depth))
        if len(ready) != 1:
            raise inner.error_at("axes", "one tree")
        return ready[0][0]


def check_tree(tree: CellTree, d: int) -> str | None:
    """Describe what is inconsistent in a tree; None if nothing is."""
    if len(tree.box) != d:
        return f"a box with {len(tree.box)} sides"
    boxes = tree.boxes
    if not (np.isfinite(boxes).all() and np.all(boxes[:, :, 0] < boxes[:, :, 1])):
        return "cells of zero size"
    return None
