"""Discontinuities of coefficients, sources and data, and the conditions across them."""
