"""Tensor-product systems of steady problems on a box, and their factorizations."""
