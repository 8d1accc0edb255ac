"""Steady problems on boxes, by products of polynomials along the axes."""
