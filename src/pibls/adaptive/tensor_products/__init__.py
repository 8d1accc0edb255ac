"""Stationary problems on boxes: tensor products of piecewise polynomials."""
