r"""Mirror images of holes in the outer boundary (method of images).

The functions around a hole do not vanish on a nearby side; the correction is singular at the mirror image
of the hole, outside the domain. A curved side acts as its osculating circle; each image is reflected once
more in the other sides. The number of functions at an image, and the density of boundary points near it,
follow from its distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.analysis.thresholds import HOLES, IMAGES, SEGMENTS
from pibls.arrays import Array
from pibls.geometry import Boundary, Domain
from pibls.geometry.faces.face import Face, join_boundaries


@dataclass(frozen=True)
class Image:
    """The mirror image of an inscribed circle: its centre, radius, and distance from the domain."""

    centre: tuple[float, float]
    radius: float
    distance: float
    circle_index: int
    """Index of the original circle."""

    def orders(self, efolds: float, decay: float) -> int:
        """Return the number of orders that leave an error of e^-efolds at the distance of the image."""
        return max(math.ceil(efolds / math.log(self.distance / (decay * self.radius))), 1)


@dataclass(frozen=True)
class Mirror:
    """A face of the outer boundary with sample points."""

    face: Face
    samples: Boundary

    @classmethod
    def of(cls, face: Face) -> Mirror:
        return cls(face, face.at(np.linspace(0.0, 1.0, SEGMENTS.dense_samples)[:, None]))

    def image(self, point: Array, radius: float) -> tuple[Array, float] | None:
        """Return centre and radius of the image of a circle on the inner side of this face, else None."""
        X, N = self.samples.points, self.samples.normals
        i = int(np.argmin(np.linalg.norm(X - point, axis=1)))
        depth = float((X[i] - point) @ N[i])
        if depth <= 0.0:
            return None
        j = min(max(i, 1), len(X) - 2)
        step = np.linalg.norm(X[j + 1] - X[j - 1])
        # The derivative of n along the arc is the curvature: 1/R for a circle around the domain.
        bend = float((N[j + 1] - N[j - 1]) @ (X[j + 1] - X[j - 1])) / max(float(step) ** 2, 1e-300)
        stretched = 1.0 / max(1.0 - bend * depth, 0.1)
        return point + depth * (1.0 + stretched) * N[i], radius * stretched

    def points(self, images: tuple[Image, ...], orders: list[int]) -> Boundary:
        """Return points of the face, denser near the images."""
        X = self.samples.points
        density = np.zeros(len(X))
        for image, most in zip(images, orders, strict=True):
            away = np.linalg.norm(X - np.array(image.centre), axis=1)
            density += (2 * most + 1) * image.distance / (math.pi * away**2)
        step = np.linalg.norm(np.diff(X, axis=0), axis=1)
        total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * step)])
        n = int(HOLES.points_per_function * total[-1])
        if n < 1:
            return self.face.at(np.empty((0, 1)))
        share = np.interp((np.arange(n) + 0.5) * total[-1] / n, total, np.linspace(0.0, 1.0, len(X)))
        return self.face.at(share[:, None])


def mirror_images(
    circles: list[tuple[float, float, float]], mirrors: tuple[Mirror, ...], domain: Domain, size: float
) -> tuple[Image, ...]:
    """Return the images of circles in all mirrors, and the images of these images in other mirrors."""
    boundary = join_boundaries([m.samples for m in mirrors], 2).points
    reach = IMAGES.max_distance if len(circles) <= IMAGES.max_circles else IMAGES.max_distance_many
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
                distance = float(np.linalg.norm(boundary - centre, axis=1).min())
                outside = not bool(np.asarray(domain.contains(centre[None, :]))[0])
                if not (outside and HOLES.max_disc_ratio * r < distance < reach * size):
                    continue
                if any(math.dist(centre, other.centre) < IMAGES.same_centre_tol * r for other in found):
                    continue
                found.append(Image((float(centre[0]), float(centre[1])), r, distance, k))
                new.append((centre, r, i, k))
        last = new
    return tuple(found)
