"""One problem at many values of its parameters."""
