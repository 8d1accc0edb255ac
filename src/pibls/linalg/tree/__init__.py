"""Multifrontal QR of block-sparse matrices, in this process or on the workers of a cluster."""
