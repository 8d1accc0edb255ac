"""Time integration of evolutions by Radau collocation windows."""
