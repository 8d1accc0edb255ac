"""Reader of GeoJSON files: the rings of all polygons."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.io.drawings.rings import Rings, unreadable_drawing


def geojson_rings(content: bytes, path: str) -> Rings:
    """Return the rings of all polygons of a geometry, a feature or a collection."""
    try:
        data = json.loads(content)
        return [np.array(ring, dtype=float)[:, :2] for ring in _rings(data)]
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as problem:
        raise unreadable_drawing(path, f"not GeoJSON ({problem})") from None


def _rings(data: Any) -> list[Array]:
    if data is None:  # a feature without geometry
        return []
    kind = data["type"]
    if kind == "FeatureCollection":
        return [ring for feature in data["features"] for ring in _rings(feature)]
    if kind == "Feature":
        return _rings(data["geometry"])
    if kind == "GeometryCollection":
        return [ring for geometry in data["geometries"] for ring in _rings(geometry)]
    if kind == "Polygon":
        return list(data["coordinates"])
    if kind == "MultiPolygon":
        return [ring for polygon in data["coordinates"] for ring in polygon]
    return []
