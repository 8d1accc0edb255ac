"""Solution of one problem at many values of its parameters."""
