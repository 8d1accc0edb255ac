"""Time integration of evolutions by Radau collocation windows.

One integrator with one step control works on any `SpatialOperator` (`protocol`):
ordinary differential equations (`ode`), intervals and boxes (`box`), and domains of any shape (`shape`).
"""
