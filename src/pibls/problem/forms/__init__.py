"""Symbolic forms of equations and conditions, and their compilation to NumPy functions."""
