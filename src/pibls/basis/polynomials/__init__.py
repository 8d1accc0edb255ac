"""Polynomials: along a line, in pieces that join smoothly, products of them, with a time."""
