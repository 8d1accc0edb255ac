"""The search: which basis, how wide, how good. It turns the crank of everything before it."""
