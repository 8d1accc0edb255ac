"""Ω = Ω₁ ∪ Ω₂ ∪ …: a domain in pieces that touch along surfaces inside, and where each has gaps.

What a point is made of is asked by a function; a piece is what hangs together and is of one kind. Pieces are
found from samples, many inside and more on both sides of the surfaces, so that thin ones are not missed:
neighbours of one kind hang together where the line between them stays in that kind. In the plane a piece may
be cut: the lines of all cuts make parts, and parts that touch elsewhere on these lines are one piece again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask, Numbers
from pibls.deadline import go_on
from pibls.geometry.faces.face import ON, Boundary, Face
from pibls.geometry.protocol import Domain, box_of, faces_of, lengths_of
from pibls.geometry.subdomains.cuts import CutLine

Kind = Callable[[Array], Numbers]
"""What each point is made of, as a number."""

_SAMPLES = {2: 6000, 3: 12000}
_ON_FACE = {2: 200, 3: 600}
_STEPS = (1e-5, 2e-3)  # of the domain, or of a smaller face, to both sides of it
_SMALL, _WIDER = 0.3, 2.0  # a face, of the domain, around which there are samples of its own, ever wider
_NEIGHBOURS = 10
_ALONG = np.linspace(0.05, 0.95, 7)
_FEW = 4  # samples: a piece of fewer belongs to the next one of its kind
_BESIDE = 1e-6  # of the domain
_CLOSELY, _KNOWN = 1e-12, 0.9
_GRID = {2: 140, 3: 40}
_FINE = {2: 90, 3: 30}
_LEAST = 0.02  # the radius of a gap that counts, relative to the piece
_CIRCLES = {2: 9, 3: 1}  # in one gap; in space its middle is not known well enough for more
_SMALLEST = 0.15  # of them, over the largest
_HELD = 0.4  # of a radius: what of the middle line is nearer to its centre a circle serves
_APART = 0.02  # of the largest radius: how far from the others a place of the middle line needs its own
_KINK = 0.9  # the slope of a distance is 1 but for its kinks


@dataclass(frozen=True)
class Parts:
    """What hangs together, is of one kind, and lies on one side of each line."""

    kind: Kind
    lines: tuple[CutLine, ...]
    kinds: tuple[int, ...]
    """The kind of each part, with a bit for each line."""
    samples: tuple[Array, ...]
    trees: dict[tuple[int, ...], Any] = field(default_factory=dict)
    """Those of the samples of some parts together, once asked for."""

    @classmethod
    def of(cls, domain: Domain, kind: Kind, lines: tuple[CutLine, ...], faces: Sequence[Face]) -> Parts:
        bare = cls(kind, lines, (), ())
        through = [line.through(box_of(domain)).face for line in lines]
        X = _samples(domain, [*faces, *through])
        made_of = bare.mark(X)
        samples, kinds = [], []
        for number in np.unique(made_of):
            go_on(__name__)
            mine = X[made_of == number]
            for part in _together(mine, domain, bare.mark, int(number), getattr(kind, "levels", None)):
                samples.append(part)
                kinds.append(int(number))
        return cls(kind, lines, tuple(kinds), tuple(samples))

    def mark(self, X: Array) -> Numbers:
        """The kind of each point, and on which side of each line it is, as a number."""
        out = self.kind(X)
        for line in self.lines:
            out = 2 * out + (line.height(X) > 0)
        return np.asarray(out, dtype=np.intp)

    def locate(self, X: Array) -> Numbers:
        """The part of each point."""
        made_of = self.mark(X)
        out = np.zeros(len(X), dtype=np.intp)
        for number in np.unique(made_of):
            rows = np.flatnonzero(made_of == number)
            mine = [p for p, k in enumerate(self.kinds) if k == number]
            if not mine:
                # A sliver between two lines: what is next to it and of the same kind.
                plain = int(number) >> len(self.lines)
                mine = [p for p, k in enumerate(self.kinds) if k >> len(self.lines) == plain]
            mine = mine or list(range(len(self.kinds)))
            out[rows] = self._nearest(X[rows], tuple(mine))
        return out

    def _nearest(self, X: Array, among: tuple[int, ...]) -> Numbers:
        """The part, of these, that has a sample next to each point: one tree for all of them."""
        from scipy.spatial import cKDTree

        if len(among) == 1:
            return np.full(len(X), among[0], dtype=np.intp)
        if among not in self.trees:
            self.trees[among] = cKDTree(np.concatenate([self.samples[p] for p in among]))
        owners = np.repeat(among, [len(self.samples[p]) for p in among])
        return np.asarray(owners[self.trees[among].query(X)[1]])


@dataclass(frozen=True)
class Division:
    """The pieces of a domain in two or three coordinates."""

    domain: Domain
    parts: Parts = field(compare=False, repr=False)
    samples: tuple[Array, ...] = field(compare=False, repr=False)
    """Points of each piece."""
    names: Numbers = field(compare=False, repr=False)
    """The piece of each part."""
    trees: tuple[Any, ...] = field(compare=False, repr=False)
    walls: tuple[CutLine, ...] = ()

    @classmethod
    def of(
        cls, domain: Domain, kind: Kind, faces: Sequence[Face], walls: Sequence[CutLine] = (),
        seams: Sequence[CutLine] = (),
    ) -> Division:  # fmt: skip
        """By kind, by ``walls``, across which nothing is reached, and by ``seams``."""
        from scipy.spatial import cKDTree

        parts = Parts.of(domain, kind, _lines([*walls, *seams], domain), faces)
        names = _joined(parts, domain, [*walls, *seams])
        while idle := [c for c in seams if _is_idle(c, parts, names)]:
            # A seam with one piece on both sides does not divide: its line does, all along.
            whole = {c: c.through(box_of(domain)) for c in idle}
            if all(c in seams for c in whole.values()):
                break
            seams = [whole.get(c, c) for c in seams]
            names = _joined(parts, domain, [*walls, *seams])
        count = int(names.max()) + 1
        samples = [np.concatenate([s for s, n in zip(parts.samples, names, strict=True) if n == piece])
                   for piece in range(count)]  # fmt: skip
        trees = tuple(cKDTree(s) for s in samples)
        return cls(domain, parts, tuple(samples), names, trees, tuple(walls))

    def __len__(self) -> int:
        return len(self.samples)

    def locate(self, X: Array) -> Numbers:
        """The piece of each point."""
        return np.asarray(self.names[self.parts.locate(X)])

    def box(self, piece: int) -> Array:
        """A box (d, 2) around a piece, and not beyond the domain's."""
        X, whole = self.samples[piece], box_of(self.domain)
        low, high = X.min(axis=0), X.max(axis=0)
        slack = 0.01 * (high - low)
        return np.stack([np.maximum(low - slack, whole[:, 0]), np.minimum(high + slack, whole[:, 1])], axis=1)

    def sides(self, boundary: Boundary, beside: float = _BESIDE) -> tuple[Numbers, Numbers]:
        """The pieces behind and before a face at points of it; -1 outside of the domain."""
        step = beside * float(lengths_of(self.domain).min()) * boundary.normals
        out = []
        for X in (boundary.points - step, boundary.points + step):
            found = self.locate(X)
            found[~np.asarray(self.domain.contains(X), dtype=bool)] = -1
            out.append(found)
        return out[0], out[1]

    def interfaces(self, faces: Sequence[Face]) -> dict[tuple[int, int], tuple[Face, ...]]:
        """What of the faces, and of the seams, lies between two pieces, by the numbers of the two."""
        out: dict[tuple[int, int], tuple[Face, ...]] = {}
        through = [line.through(box_of(self.domain)).face for line in self.parts.lines]
        for number, face in enumerate([*faces, *through]):
            go_on(__name__)
            seam = number >= len(faces)
            n = _ON_FACE[len(self.domain.coordinates)]
            there = face.at(_spread(n, face.dimension))
            a, b = self.sides(there)
            # A face that is known well enough begins at a corner, and not behind it.
            closely = self.sides(there, _CLOSELY)
            known = np.mean((closely[0] == a) & (closely[1] == b)) > _KNOWN
            beside = _CLOSELY if seam or known else _BESIDE
            pairs = {(int(min(p, q)), int(max(p, q))) for p, q in zip(a, b, strict=True) if p != q}
            for pair in sorted(p for p in pairs if p[0] >= 0 and self.are_alike(*p) == seam):

                def between(boundary: Boundary, pair: Any = pair, beside: float = beside) -> Mask:
                    p, q = self.sides(boundary, beside)
                    mine = (np.minimum(p, q) == pair[0]) & (np.maximum(p, q) == pair[1])
                    for wall in self.walls:
                        mine &= ~wall.holds(boundary.points, _BESIDE * float(lengths_of(self.domain).min()))
                    return np.asarray(mine)

                found = face.trimmed(between, np.empty((0, len(self.domain.coordinates))))
                out[pair] = (*out.get(pair, ()), *found)
        return {pair: found for pair, found in out.items() if found}

    def are_alike(self, p: int, q: int) -> bool:
        """Whether two pieces are of one kind: what is between them is a seam."""
        kinds = [self.parts.kinds[int(np.argmax(self.names == i))] >> len(self.parts.lines) for i in (p, q)]
        return kinds[0] == kinds[1]

    def is_between(self, X: Array) -> Mask:
        """Which points lie where what is given may jump: it does not."""
        return np.zeros(len(X), dtype=np.bool_)

    def contains(self, piece: int, X: Array) -> Mask:
        """Which points lie in a piece."""
        inside = np.array(self.domain.contains(X), dtype=np.bool_)
        rows = np.flatnonzero(inside)
        inside[rows] = self.locate(X[rows]) == piece
        return inside

    def gaps(self, piece: int) -> tuple[tuple[tuple[float, ...], float], ...]:
        """(centre, radius) of circles or spheres in the gaps of a piece: its holes and notches.

        A gap is what of the convex hull is not in the piece. A long one has several circles.
        """
        from scipy.spatial import ConvexHull, Delaunay, QhullError, cKDTree

        box = self.box(piece)
        d, samples = len(box), self.samples[piece]
        try:
            hull = Delaunay(samples[ConvexHull(samples).vertices])
        except QhullError:
            return ()

        def missing(X: Array) -> Mask:
            out = np.asarray(hull.find_simplex(X) >= 0)
            out[out] = ~self.contains(piece, X[out])
            return out

        X, shape, spacing = _grid(box, _GRID[d])
        absent = missing(X)
        go_on(__name__)
        names, count = _hanging_together(absent.reshape(shape))
        tree = cKDTree(X[absent]) if count else None
        least = _LEAST * float((box[:, 1] - box[:, 0]).min())
        out: list[tuple[tuple[float, ...], float]] = []
        for name in range(1, count + 1):
            mine = X[names.ravel() == name]
            around = np.stack([mine.min(axis=0) - spacing, mine.max(axis=0) + spacing], axis=1)
            Y, shape, fine = _grid(around, _FINE[d])
            depth = self.trees[piece].query(Y)[0]
            # The middle line: where two sides are equally far away, the distance has a kink.
            slope = np.sqrt(sum(g**2 for g in np.gradient(depth.reshape(shape), *fine))).ravel()
            own = missing(Y)
            assert tree is not None
            own[own] = names.ravel()[np.flatnonzero(absent)[tree.query(Y[own])[1]]] == name
            depth = np.where(own, depth, 0.0)
            deepest = int(depth.argmax())
            if depth[deepest] > least:
                chosen = np.concatenate([[deepest], np.flatnonzero(own & (slope < _KINK))])
                out += _circles(Y[chosen], depth[chosen], float(fine.max()), least)
        return tuple(out)


def _hanging_together(mask: Mask) -> tuple[Numbers, int]:
    """The number of what hangs together along the axes, from 1 on, and 0 elsewhere; how many there are."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    places = np.arange(mask.size).reshape(mask.shape)
    links = []
    for axis in range(mask.ndim):
        m, p = np.moveaxis(mask, axis, 0), np.moveaxis(places, axis, 0)
        both = m[1:] & m[:-1]
        links.append([p[:-1][both], p[1:][both]])
    rows, columns = np.concatenate(links, axis=1)
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(mask.size, mask.size))
    owners = connected_components(graph, directed=False)[1].reshape(mask.shape)[mask]
    own, numbers = np.unique(owners, return_inverse=True)
    out = np.zeros(mask.shape, dtype=np.intp)
    out[mask] = 1 + numbers
    return out, len(own)


def _lines(cuts: Sequence[CutLine], domain: Domain) -> tuple[CutLine, ...]:
    """One cut of each line."""
    out: list[CutLine] = []
    for cut in cuts:
        if not any(cut.is_on_line_of(line, ON * float(lengths_of(domain).max())) for line in out):
            out.append(cut)
    return tuple(out)


def _joined(parts: Parts, domain: Domain, cuts: Sequence[CutLine]) -> Numbers:
    """The piece of each part: those of one kind that touch on a line, but for the cuts, are one."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n, size = len(parts.kinds), float(lengths_of(domain).max())
    links: list[tuple[int, int]] = []
    for line in parts.lines:
        X = line.through(box_of(domain)).points
        X = X[np.asarray(domain.contains(X), dtype=bool)]
        for cut in cuts:
            X = X[~cut.holds(X, 10 * ON * size)]
        if not len(X):
            continue
        step = 2e-7 * size * np.array([-line.along[1], line.along[0]])
        a, b = (parts.locate(X + s * step) for s in (-1.0, 1.0))
        plain = np.array(parts.kinds) >> len(parts.lines)
        links += [(int(p), int(q)) for p, q in zip(a, b, strict=True) if plain[p] == plain[q]]
    if not links:
        return np.arange(n, dtype=np.intp)
    rows, columns = np.unique(links, axis=0).T
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def _is_idle(seam: CutLine, parts: Parts, names: Numbers) -> bool:
    """Whether the same piece is on both sides of a seam."""
    a, b = np.array(seam.a), np.array(seam.b)
    X = a + np.linspace(0.02, 0.98, 49)[:, None] * (b - a)
    step = 1e-6 * np.linalg.norm(b - a) * np.array([-seam.along[1], seam.along[0]])
    left, right = (names[parts.locate(X + s * step)] for s in (-1.0, 1.0))
    return bool(np.any(left == right))


def _samples(domain: Domain, faces: Sequence[Face]) -> Array:
    d = len(domain.coordinates)
    found = [np.asarray(domain.interior(_SAMPLES[d], np.random.default_rng(0)), dtype=float)]
    size = float(lengths_of(domain).min())
    for face in (*faces, *faces_of(domain)):
        there = face.at(_spread(_ON_FACE[d], face.dimension))
        low, high = there.points.min(axis=0), there.points.max(axis=0)
        reach = float((high - low).max())
        beside = min(size, reach)
        found += [there.points + s * step * beside * there.normals for step in _STEPS for s in (-1.0, 1.0)]
        while reach < _SMALL * size:
            # What is around a small one lies as close as it is small, and less so further off.
            reach *= _WIDER
            box = 0.5 * (low + high) + reach * (np.random.default_rng(0).random((_ON_FACE[d], d)) - 0.5)
            found.append(box)
    X = np.concatenate(found)
    return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])


def _spread(n: int, dimension: int) -> Array:
    """Places in the unit cube, none at its edges."""
    if dimension == 1:
        return np.asarray(((np.arange(n) + 0.5) / n)[:, None])
    return np.random.default_rng(1).random((n, dimension))


def _together(
    X: Array, domain: Domain, kind: Kind, number: int, levels: Callable[[Array], Array] | None
) -> list[Array]:
    """Points of one kind, by what hangs together; ``levels`` are functions on whose zeros kinds change."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    if len(X) < _FEW:
        return [X]
    _, near = cKDTree(X).query(X, min(_NEIGHBOURS + 1, len(X)))
    rows = np.repeat(np.arange(len(X)), near.shape[1] - 1)
    columns = near[:, 1:].ravel()
    once = np.unique(np.minimum(rows, columns) * len(X) + np.maximum(rows, columns))
    rows, columns = once // len(X), once % len(X)
    along = np.repeat(_ALONG[None, :], len(rows), axis=0)
    if levels is not None:
        # Past the corner of a chessboard a line may be in another square very briefly.
        values = levels(X)
        a, b = values[rows], values[columns]
        with np.errstate(all="ignore"):
            zeros = np.sort(np.where(a * b < 0, a / (a - b), 0.0), axis=1)
        ends = np.column_stack([np.zeros(len(rows)), zeros, np.ones(len(rows))])
        along = np.column_stack([along, 0.5 * (ends[:, 1:] + ends[:, :-1])])
    way = X[rows][:, None, :] * (1.0 - along[..., None]) + X[columns][:, None, :] * along[..., None]
    flat = way.reshape(-1, X.shape[1])
    free = (kind(flat) == number) & np.asarray(domain.contains(flat), dtype=bool)
    free = free.reshape(len(rows), -1).all(axis=1)
    graph = coo_matrix((np.ones(free.sum()), (rows[free], columns[free])), shape=(len(X), len(X)))
    count, names = connected_components(graph, directed=False)
    sizes = np.bincount(names, minlength=count)
    large = np.flatnonzero(sizes >= _FEW)
    if not len(large):
        return [X]
    known = np.isin(names, large)
    nearest = cKDTree(X[known]).query(X)[1]
    names = np.where(known, names, names[known][nearest])
    return [X[names == name] for name in large]


def _grid(box: Array, n: int) -> tuple[Array, tuple[int, ...], Array]:
    """Points (n^d, d) over a box, the shape of the grid and its spacing."""
    axes = [np.linspace(a, b, n) for a, b in box]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(box))
    return X, (n,) * len(box), np.array([axis[1] - axis[0] for axis in axes])


def _circles(X: Array, depth: Array, spacing: float, least: float) -> list[tuple[tuple[float, ...], float]]:
    """Circles about points of the middle line of a gap, of which the first is the deepest."""
    # The grid has several points that are as good as the middle.
    level = (depth > depth[0] - 0.5 * spacing) & (np.linalg.norm(X - X[0], axis=1) < 2.0 * spacing)
    out = [(tuple(map(float, X[level].mean(axis=0))), float(depth[0]))]
    apart = np.linalg.norm(X - X[0], axis=1) - _HELD * depth[0]
    while len(out) < _CIRCLES[X.shape[1]]:
        far = int(np.where(depth > max(_SMALLEST * depth[0], 0.5 * least), apart, -np.inf).argmax())
        if apart[far] < _APART * depth[0]:
            break
        out.append((tuple(map(float, X[far])), float(depth[far])))
        apart = np.minimum(apart, np.linalg.norm(X - X[far], axis=1) - _HELD * depth[far])
    return out
