"""Benchmarks: outside the package, run as modules or scripts from the checkout."""
