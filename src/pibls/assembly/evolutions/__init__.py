"""Systems of evolutions: spatial collocation, ordinary differential equations, and their inverses."""
