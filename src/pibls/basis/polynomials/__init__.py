"""Polynomial bases (Chebyshev, splines, tensor products, total degree), quadrature and Radau tables."""
