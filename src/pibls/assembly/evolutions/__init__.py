"""Rows of evolutions, in space and at the moments of a window, and what inverts them."""
