"""Adaptive solution: strategies, their scheduler, validation and the error estimate."""
