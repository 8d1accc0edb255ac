"""Adaptive tree of cells with random Fourier features in each cell."""
