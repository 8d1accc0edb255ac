"""Evolutions in windows of time: on boxes at points, on any shape with its functions."""
