"""Functions for one place: corners and tips, holes, what lies behind a mirror, thin layers along a wall."""
