"""Validation of candidates: held-out points, error estimate, conditioning, scan of the data."""
