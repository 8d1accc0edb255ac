"""How far off a solution is, and where that is looked for."""
