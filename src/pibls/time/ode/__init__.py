"""Ordinary differential equations: evolutions without a space dimension."""
