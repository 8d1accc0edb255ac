"""A tree of cells, divided where the solution is hard."""
