"""Initial value problems for ordinary differential equations by Radau collocation windows."""
