"""Problems stated once, for the solver and for a recorder: references are checked without the solver."""
