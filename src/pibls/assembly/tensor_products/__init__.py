"""Steady problems on a box: rows that are products along the axes, and what inverts them."""
