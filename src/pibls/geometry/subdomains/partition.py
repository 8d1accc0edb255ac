"""Partition Ω = Ω₁ ∪ Ω₂ ∪ … of a domain into subdomains, and the cavities (holes, notches) of each.

A subdomain is a connected set of points of one material. Subdomains are found from samples in the interior
and on both sides of the interfaces, so that thin ones are not missed: neighbouring samples of one material
are connected if the segment between them stays in that material. A plane subdomain may be divided further
by slits and branch cuts: the extended lines of all cuts divide it into parts, and parts that touch on a
line outside of the cuts are merged again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pibls.arrays import Array, Indices, Mask
from pibls.geometry.faces.face import ON_FACE_TOLERANCE, Boundary, Face
from pibls.geometry.protocol import Domain, box_of, faces_of, lengths_of
from pibls.geometry.subdomains.cut_lines import CutLine
from pibls.runtime.deadline import check_deadline

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


class Material(Protocol):
    """A function that returns the index of the material of each point."""

    def __call__(self, X: Array) -> Indices: ...

    def levels(self, X: Array) -> Array | None:
        """Return functions on whose zeros the material changes, (n, functions); None if it does not."""


class UniformMaterial:
    """The same material at all points."""

    def __call__(self, X: Array) -> Indices:
        return np.zeros(len(X), dtype=np.intp)

    def levels(self, X: Array) -> None:
        """Return None: there are no switching functions."""


_INTERIOR_SAMPLES = {2: 6000, 3: 12000}
_FACE_SAMPLES = {2: 200, 3: 600}
_OFFSETS = (1e-5, 2e-3)  # of samples from a face, relative to the domain or to a smaller face
_SMALL_FACE = 0.3  # of the domain: smaller faces have samples in boxes around them,
_GROWTH = 2.0  # each larger than the one before by this factor
_NEIGHBOURS = 10
_SEGMENT_POSITIONS = np.linspace(0.05, 0.95, 7)
_MIN_SAMPLES = 4  # a component with fewer is merged with the nearest one of its material
_SIDE_STEP = 1e-6  # of the domain
_SMALL_SIDE_STEP, _MIN_AGREEMENT = 1e-12, 0.9
_GRID_SIZE = {2: 140, 3: 40}
_FINE_GRID_SIZE = {2: 90, 3: 30}
_MIN_CAVITY_RADIUS = 0.02  # relative to the subdomain; smaller cavities are ignored
_MAX_CIRCLES = {2: 9, 3: 1}  # per cavity; in 3D its medial axis is not accurate enough for more
_MIN_RADIUS_RATIO = 0.15  # of the circles in a cavity to the largest
_COVERED_FRACTION = 0.4  # of its radius: a circle covers the medial axis up to this distance
_MIN_SEPARATION = 0.02  # of the largest radius: points of the medial axis this far from circles get their own
_MAX_SMOOTH_SLOPE = 0.9  # the distance function has slope 1 except on the medial axis


@dataclass(frozen=True)
class ConnectedParts:
    """Connected sets of points of one material on one side of each line."""

    material: Material
    lines: tuple[CutLine, ...]
    keys: tuple[int, ...]
    """The material of each part, followed by one bit per line."""
    samples: tuple[Array, ...]
    trees: dict[tuple[int, ...], cKDTree] = field(default_factory=dict)
    """Search trees of the samples of several parts, built on demand."""

    @classmethod
    def of(
        cls, domain: Domain, material: Material, lines: tuple[CutLine, ...], faces: Sequence[Face]
    ) -> ConnectedParts:
        empty = cls(material, lines, (), ())
        line_faces = [line.extended_across(box_of(domain)).face for line in lines]
        X = _samples(domain, [*faces, *line_faces])
        point_keys = empty.part_keys(X)
        samples, keys = [], []
        for key in np.unique(point_keys):
            check_deadline(__name__)
            members = X[point_keys == key]
            for part in _connected_samples(members, domain, empty, int(key)):
                samples.append(part)
                keys.append(int(key))
        return cls(material, lines, tuple(keys), tuple(samples))

    def part_keys(self, X: Array) -> Indices:
        """Return the material of each point and its sides of the lines, encoded as one integer."""
        out = self.material(X)
        for line in self.lines:
            out = 2 * out + (line.signed_distance(X) > 0)
        return np.asarray(out, dtype=np.intp)

    def locate(self, X: Array) -> Indices:
        """Return the index of the part of each point."""
        point_keys = self.part_keys(X)
        out = np.zeros(len(X), dtype=np.intp)
        for key in np.unique(point_keys):
            rows = np.flatnonzero(point_keys == key)
            parts = [p for p, k in enumerate(self.keys) if k == key]
            if not parts:
                # A sliver between two lines without samples: use the parts of the same material.
                material = int(key) >> len(self.lines)
                parts = [p for p, k in enumerate(self.keys) if k >> len(self.lines) == material]
            parts = parts or list(range(len(self.keys)))
            out[rows] = self._nearest(X[rows], tuple(parts))
        return out

    def _nearest(self, X: Array, parts: tuple[int, ...]) -> Indices:
        """Return which of the given ``parts`` has the sample nearest to each point."""
        from scipy.spatial import cKDTree

        if len(parts) == 1:
            return np.full(len(X), parts[0], dtype=np.intp)
        if parts not in self.trees:
            self.trees[parts] = cKDTree(np.concatenate([self.samples[p] for p in parts]))
        owners = np.repeat(parts, [len(self.samples[p]) for p in parts])
        return np.asarray(owners[self.trees[parts].query(X)[1]])


@dataclass(frozen=True)
class Partition:
    """The partition of a domain with two or three coordinates into subdomains."""

    domain: Domain
    parts: ConnectedParts = field(compare=False, repr=False)
    samples: tuple[Array, ...] = field(compare=False, repr=False)
    """Sample points of each subdomain."""
    subdomain_of_part: Indices = field(compare=False, repr=False)
    """The subdomain of each part."""
    trees: tuple[cKDTree, ...] = field(compare=False, repr=False)
    slits: tuple[CutLine, ...] = ()

    @classmethod
    def of(
        cls, domain: Domain, material: Material, faces: Sequence[Face], slits: Sequence[CutLine] = (),
        branch_cuts: Sequence[CutLine] = (),
    ) -> Partition:  # fmt: skip
        """Return the partition by material, ``slits`` and ``branch_cuts``."""
        from scipy.spatial import cKDTree

        parts = ConnectedParts.of(domain, material, _distinct_lines([*slits, *branch_cuts], domain), faces)
        subdomain_of_part = _merge_parts(parts, domain, [*slits, *branch_cuts])
        while ineffective := [c for c in branch_cuts if _is_ineffective(c, parts, subdomain_of_part)]:
            # A branch cut with one subdomain on both sides does not divide it: extend it across the domain.
            extended = {c: c.extended_across(box_of(domain)) for c in ineffective}
            if all(c in branch_cuts for c in extended.values()):
                break
            branch_cuts = [extended.get(c, c) for c in branch_cuts]
            subdomain_of_part = _merge_parts(parts, domain, [*slits, *branch_cuts])
        count = int(subdomain_of_part.max()) + 1
        samples = [
            np.concatenate(
                [s for s, i in zip(parts.samples, subdomain_of_part, strict=True) if i == subdomain]
            )
            for subdomain in range(count)
        ]
        trees = tuple(cKDTree(s) for s in samples)
        return cls(domain, parts, tuple(samples), subdomain_of_part, trees, tuple(slits))

    def __len__(self) -> int:
        return len(self.samples)

    def locate(self, X: Array) -> Indices:
        """Return the index of the subdomain of each point."""
        return np.asarray(self.subdomain_of_part[self.parts.locate(X)])

    def box(self, subdomain: int) -> Array:
        """Return a box (d, 2) around a subdomain, within the bounds of the domain."""
        X, bounds = self.samples[subdomain], box_of(self.domain)
        low, high = X.min(axis=0), X.max(axis=0)
        slack = 0.01 * (high - low)
        return np.stack(
            [np.maximum(low - slack, bounds[:, 0]), np.minimum(high + slack, bounds[:, 1])], axis=1
        )

    def sides(self, boundary: Boundary, relative_step: float = _SIDE_STEP) -> tuple[Indices, Indices]:
        """Return the subdomains on the inner and outer side of boundary points; -1 outside of the domain."""
        step = relative_step * float(lengths_of(self.domain).min()) * boundary.normals
        out = []
        for X in (boundary.points - step, boundary.points + step):
            subdomains = self.locate(X)
            subdomains[~np.asarray(self.domain.contains(X), dtype=bool)] = -1
            out.append(subdomains)
        return out[0], out[1]

    def interfaces(self, faces: Sequence[Face]) -> dict[tuple[int, int], tuple[Face, ...]]:
        """Return the parts of the faces and branch cuts between two subdomains, by their pair of indices."""
        out: dict[tuple[int, int], tuple[Face, ...]] = {}
        line_faces = [line.extended_across(box_of(self.domain)).face for line in self.parts.lines]
        for number, face in enumerate([*faces, *line_faces]):
            check_deadline(__name__)
            is_cut = number >= len(faces)
            n = _FACE_SAMPLES[len(self.domain.coordinates)]
            samples = face.at(_face_parameters(n, face.dimension))
            a, b = self.sides(samples)
            # A small step makes the ends of an accurately known face exact at corners.
            close_sides = self.sides(samples, _SMALL_SIDE_STEP)
            is_accurate = np.mean((close_sides[0] == a) & (close_sides[1] == b)) > _MIN_AGREEMENT
            relative_step = _SMALL_SIDE_STEP if is_cut or is_accurate else _SIDE_STEP
            pairs = {(int(min(p, q)), int(max(p, q))) for p, q in zip(a, b, strict=True) if p != q}
            for pair in sorted(p for p in pairs if p[0] >= 0 and self.have_same_material(*p) == is_cut):

                def between(
                    boundary: Boundary, pair: tuple[int, int] = pair, relative_step: float = relative_step
                ) -> Mask:
                    p, q = self.sides(boundary, relative_step)
                    mask = (np.minimum(p, q) == pair[0]) & (np.maximum(p, q) == pair[1])
                    for slit in self.slits:
                        mask &= ~slit.is_on_segment(
                            boundary.points, _SIDE_STEP * float(lengths_of(self.domain).min())
                        )
                    return np.asarray(mask)

                found = face.trimmed(between, np.empty((0, len(self.domain.coordinates))))
                out[pair] = (*out.get(pair, ()), *found)
        return {pair: found for pair, found in out.items() if found}

    def have_same_material(self, p: int, q: int) -> bool:
        """Return whether two subdomains have the same material, so that a branch cut lies between them."""
        materials = [
            self.parts.keys[int(np.argmax(self.subdomain_of_part == i))] >> len(self.parts.lines)
            for i in (p, q)
        ]
        return materials[0] == materials[1]

    def is_on_interface(self, X: Array) -> Mask:
        """Return which points lie on an interface where data may jump: none."""
        return np.zeros(len(X), dtype=np.bool_)

    def contains(self, subdomain: int, X: Array) -> Mask:
        """Return which points lie in a subdomain."""
        inside = np.array(self.domain.contains(X), dtype=np.bool_)
        rows = np.flatnonzero(inside)
        inside[rows] = self.locate(X[rows]) == subdomain
        return inside

    def cavities(self, subdomain: int) -> tuple[tuple[tuple[float, ...], float], ...]:
        """Return (center, radius) of circles or spheres in the cavities of a subdomain.

        A cavity is a connected component of the difference of its convex hull and the subdomain: a hole or a
        notch. A long cavity has several circles.
        """
        from scipy.spatial import ConvexHull, Delaunay, QhullError, cKDTree

        box = self.box(subdomain)
        d, samples = len(box), self.samples[subdomain]
        try:
            hull = Delaunay(samples[ConvexHull(samples).vertices])
        except QhullError:
            return ()

        def missing(X: Array) -> Mask:
            out = np.asarray(hull.find_simplex(X) >= 0)
            out[out] = ~self.contains(subdomain, X[out])
            return out

        X, shape, spacing = _grid(box, _GRID_SIZE[d])
        is_missing = missing(X)
        check_deadline(__name__)
        labels, count = _label_components(is_missing.reshape(shape))
        tree = cKDTree(X[is_missing]) if count else None
        min_radius = _MIN_CAVITY_RADIUS * float((box[:, 1] - box[:, 0]).min())
        out: list[tuple[tuple[float, ...], float]] = []
        for label in range(1, count + 1):
            members = X[labels.ravel() == label]
            around = np.stack([members.min(axis=0) - spacing, members.max(axis=0) + spacing], axis=1)
            Y, shape, fine_spacing = _grid(around, _FINE_GRID_SIZE[d])
            depth = self.trees[subdomain].query(Y)[0]
            # On the medial axis, equidistant from two sides, the distance function has a kink.
            slope = np.sqrt(sum(g**2 for g in np.gradient(depth.reshape(shape), *fine_spacing))).ravel()
            in_cavity = missing(Y)
            assert tree is not None
            in_cavity[in_cavity] = (
                labels.ravel()[np.flatnonzero(is_missing)[tree.query(Y[in_cavity])[1]]] == label
            )
            depth = np.where(in_cavity, depth, 0.0)
            deepest = int(depth.argmax())
            if depth[deepest] > min_radius:
                chosen = np.concatenate([[deepest], np.flatnonzero(in_cavity & (slope < _MAX_SMOOTH_SLOPE))])
                out += _inscribed_circles(Y[chosen], depth[chosen], float(fine_spacing.max()), min_radius)
        return tuple(out)


def _label_components(mask: Mask) -> tuple[Indices, int]:
    """Return labels 1, 2, … of the connected components of a mask, 0 elsewhere, and their number."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    indices = np.arange(mask.size).reshape(mask.shape)
    links = []
    for axis in range(mask.ndim):
        m, p = np.moveaxis(mask, axis, 0), np.moveaxis(indices, axis, 0)
        both = m[1:] & m[:-1]
        links.append([p[:-1][both], p[1:][both]])
    rows, columns = np.concatenate(links, axis=1)
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(mask.size, mask.size))
    owners = connected_components(graph, directed=False)[1].reshape(mask.shape)[mask]
    components, numbers = np.unique(owners, return_inverse=True)
    out = np.zeros(mask.shape, dtype=np.intp)
    out[mask] = 1 + numbers
    return out, len(components)


def _distinct_lines(cuts: Sequence[CutLine], domain: Domain) -> tuple[CutLine, ...]:
    """Return the cuts without those on the same line as another one."""
    out: list[CutLine] = []
    for cut in cuts:
        if not any(
            cut.is_collinear(line, ON_FACE_TOLERANCE * float(lengths_of(domain).max())) for line in out
        ):
            out.append(cut)
    return tuple(out)


def _merge_parts(parts: ConnectedParts, domain: Domain, cuts: Sequence[CutLine]) -> Indices:
    """Return the subdomain of each part.

    Parts of one material that touch on a line outside of the cuts belong to the same subdomain.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n, size = len(parts.keys), float(lengths_of(domain).max())
    links: list[tuple[int, int]] = []
    for line in parts.lines:
        X = line.extended_across(box_of(domain)).points
        X = X[np.asarray(domain.contains(X), dtype=bool)]
        for cut in cuts:
            X = X[~cut.is_on_segment(X, 10 * ON_FACE_TOLERANCE * size)]
        if not len(X):
            continue
        step = 2e-7 * size * np.array([-line.direction[1], line.direction[0]])
        a, b = (parts.locate(X + s * step) for s in (-1.0, 1.0))
        materials = np.array(parts.keys) >> len(parts.lines)
        links += [(int(p), int(q)) for p, q in zip(a, b, strict=True) if materials[p] == materials[q]]
    if not links:
        return np.arange(n, dtype=np.intp)
    rows, columns = np.unique(links, axis=0).T
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def _is_ineffective(cut: CutLine, parts: ConnectedParts, subdomain_of_part: Indices) -> bool:
    """Return whether the same subdomain lies on both sides of a branch cut."""
    a, b = np.array(cut.a), np.array(cut.b)
    X = a + np.linspace(0.02, 0.98, 49)[:, None] * (b - a)
    step = 1e-6 * np.linalg.norm(b - a) * np.array([-cut.direction[1], cut.direction[0]])
    left, right = (subdomain_of_part[parts.locate(X + s * step)] for s in (-1.0, 1.0))
    return bool(np.any(left == right))


def _samples(domain: Domain, faces: Sequence[Face]) -> Array:
    d = len(domain.coordinates)
    found = [np.asarray(domain.interior(_INTERIOR_SAMPLES[d], np.random.default_rng(0)), dtype=float)]
    size = float(lengths_of(domain).min())
    for face in (*faces, *faces_of(domain)):
        boundary = face.at(_face_parameters(_FACE_SAMPLES[d], face.dimension))
        low, high = boundary.points.min(axis=0), boundary.points.max(axis=0)
        reach = float((high - low).max())
        scale = min(size, reach)
        found += [
            boundary.points + s * step * scale * boundary.normals for step in _OFFSETS for s in (-1.0, 1.0)
        ]
        while reach < _SMALL_FACE * size:
            # Sample the surroundings of a small face in boxes of increasing size.
            reach *= _GROWTH
            box = 0.5 * (low + high) + reach * (np.random.default_rng(0).random((_FACE_SAMPLES[d], d)) - 0.5)
            found.append(box)
    X = np.concatenate(found)
    return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])


def _face_parameters(n: int, dimension: int) -> Array:
    """Return n parameters in the unit cube, none on its boundary, (n, dimension)."""
    if dimension == 1:
        return np.asarray(((np.arange(n) + 0.5) / n)[:, None])
    return np.random.default_rng(1).random((n, dimension))


def _connected_samples(X: Array, domain: Domain, parts: ConnectedParts, key: int) -> list[Array]:
    """Return the points with one key, grouped by connected component."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    if len(X) < _MIN_SAMPLES:
        return [X]
    _, near = cKDTree(X).query(X, min(_NEIGHBOURS + 1, len(X)))
    rows = np.repeat(np.arange(len(X)), near.shape[1] - 1)
    columns = near[:, 1:].ravel()
    edges = np.unique(np.minimum(rows, columns) * len(X) + np.maximum(rows, columns))
    rows, columns = edges // len(X), edges % len(X)
    positions = np.repeat(_SEGMENT_POSITIONS[None, :], len(rows), axis=0)
    values = parts.material.levels(X)
    if values is not None:
        # Near the corner of a checkerboard a segment may cross another square over a short distance.
        a, b = values[rows], values[columns]
        with np.errstate(all="ignore"):
            zeros = np.sort(np.where(a * b < 0, a / (a - b), 0.0), axis=1)
        ends = np.column_stack([np.zeros(len(rows)), zeros, np.ones(len(rows))])
        positions = np.column_stack([positions, 0.5 * (ends[:, 1:] + ends[:, :-1])])
    segment_points = (
        X[rows][:, None, :] * (1.0 - positions[..., None]) + X[columns][:, None, :] * positions[..., None]
    )
    flat = segment_points.reshape(-1, X.shape[1])
    is_connected = (parts.part_keys(flat) == key) & np.asarray(domain.contains(flat), dtype=bool)
    is_connected = is_connected.reshape(len(rows), -1).all(axis=1)
    graph = coo_matrix(
        (np.ones(is_connected.sum()), (rows[is_connected], columns[is_connected])), shape=(len(X), len(X))
    )
    count, labels = connected_components(graph, directed=False)
    sizes = np.bincount(labels, minlength=count)
    kept = np.flatnonzero(sizes >= _MIN_SAMPLES)
    if not len(kept):
        return [X]
    known = np.isin(labels, kept)
    nearest = cKDTree(X[known]).query(X)[1]
    labels = np.where(known, labels, labels[known][nearest])
    return [X[labels == label] for label in kept]


def _grid(box: Array, n: int) -> tuple[Array, tuple[int, ...], Array]:
    """Return the points (n^d, d) of a grid over a box, the shape of the grid and its spacing."""
    axes = [np.linspace(a, b, n) for a, b in box]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(box))
    return X, (n,) * len(box), np.array([axis[1] - axis[0] for axis in axes])


def _inscribed_circles(
    X: Array, depth: Array, spacing: float, min_radius: float
) -> list[tuple[tuple[float, ...], float]]:
    """Return circles (center, radius) about points X of the medial axis, the largest first."""
    # Average the grid points that are about as deep as the deepest one.
    is_deepest = (depth > depth[0] - 0.5 * spacing) & (np.linalg.norm(X - X[0], axis=1) < 2.0 * spacing)
    out = [(tuple(map(float, X[is_deepest].mean(axis=0))), float(depth[0]))]
    distance = np.linalg.norm(X - X[0], axis=1) - _COVERED_FRACTION * depth[0]
    while len(out) < _MAX_CIRCLES[X.shape[1]]:
        farthest = int(
            np.where(depth > max(_MIN_RADIUS_RATIO * depth[0], 0.5 * min_radius), distance, -np.inf).argmax()
        )
        if distance[farthest] < _MIN_SEPARATION * depth[0]:
            break
        out.append((tuple(map(float, X[farthest])), float(depth[farthest])))
        distance = np.minimum(
            distance, np.linalg.norm(X - X[farthest], axis=1) - _COVERED_FRACTION * depth[farthest]
        )
    return out
