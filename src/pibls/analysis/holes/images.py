r"""z ↦ z*: holes seen in the mirror of the outer boundary.

What decays around a hole does not vanish at a side nearby, and what makes good for it is singular at the
mirror image of the hole, outside of the domain and as close to it. A side that is bent mirrors as the circle
that touches it does; two sides that meet also mirror each other's images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.analysis.thresholds import ENDS, HOLES, IMAGES
from pibls.arrays import Array
from pibls.geometry import Boundary, Domain
from pibls.geometry.faces.face import Face, join


@dataclass(frozen=True)
class Image:
    """The mirror image of a circle in a hole: its centre, its radius, its distance from the domain."""

    centre: tuple[float, float]
    radius: float
    distance: float
    of: int
    """The number of the circle."""

    def orders(self, digits: float, decay: float) -> int:
        """As many as leave e^-digits: what is around the circle decays, and is seen from farther away."""
        return max(math.ceil(digits / math.log(self.distance / (decay * self.radius))), 1)


@dataclass(frozen=True)
class Mirror:
    """A face of the outer boundary, seen at many places."""

    face: Face
    seen: Boundary

    @classmethod
    def of(cls, face: Face) -> Mirror:
        return cls(face, face.at(np.linspace(0.0, 1.0, ENDS.dense)[:, None]))

    def image(self, point: Array, radius: float) -> tuple[Array, float] | None:
        """The image of a circle, where it lies on the inner side of this face."""
        X, N = self.seen.points, self.seen.normals
        i = int(np.argmin(np.linalg.norm(X - point, axis=1)))
        depth = float((X[i] - point) @ N[i])
        if depth <= 0.0:
            return None
        j = min(max(i, 1), len(X) - 2)
        step = np.linalg.norm(X[j + 1] - X[j - 1])
        # n' along the arc is the curvature: 1/R for a circle around the domain.
        bend = float((N[j + 1] - N[j - 1]) @ (X[j + 1] - X[j - 1])) / max(float(step) ** 2, 1e-300)
        stretched = 1.0 / max(1.0 - bend * depth, 0.1)
        return point + depth * (1.0 + stretched) * N[i], radius * stretched

    def points(self, images: tuple[Image, ...], orders: list[int]) -> Boundary:
        """Points of the face, closer together the nearer an image is."""
        X = self.seen.points
        density = np.zeros(len(X))
        for image, most in zip(images, orders, strict=True):
            away = np.linalg.norm(X - np.array(image.centre), axis=1)
            density += (2 * most + 1) * image.distance / (math.pi * away**2)
        step = np.linalg.norm(np.diff(X, axis=0), axis=1)
        total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * step)])
        n = int(HOLES.per_function * total[-1])
        if n < 1:
            return self.face.at(np.empty((0, 1)))
        share = np.interp((np.arange(n) + 0.5) * total[-1] / n, total, np.linspace(0.0, 1.0, len(X)))
        return self.face.at(share[:, None])


def mirrored(
    circles: list[tuple[float, float, float]], mirrors: tuple[Mirror, ...], domain: Domain, size: float
) -> tuple[Image, ...]:
    """The images of circles in all mirrors, and those of the images in the next ones."""
    rim = join([m.seen for m in mirrors], 2).points
    reach = IMAGES.reach if len(circles) <= IMAGES.few else IMAGES.near
    found: list[Image] = []
    last = [(np.array([a, b]), r, -1, k) for k, (a, b, r) in enumerate(circles)]
    for _ in range(2):
        new = []
        for point, radius, before, k in last:
            for i, mirror in enumerate(mirrors):
                seen = mirror.image(point, radius) if i != before else None
                if seen is None:
                    continue
                centre, r = seen
                distance = float(np.linalg.norm(rim - centre, axis=1).min())
                outside = not bool(np.asarray(domain.contains(centre[None, :]))[0])
                if not (outside and HOLES.round * r < distance < reach * size):
                    continue
                if any(math.dist(centre, other.centre) < IMAGES.same * r for other in found):
                    continue
                found.append(Image((float(centre[0]), float(centre[1])), r, distance, k))
                new.append((centre, r, i, k))
        last = new
    return tuple(found)
