"""Computations with finished solutions: integrals, events, sensitivities, sweeps, further solutions."""
