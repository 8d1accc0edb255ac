"""What every shape asks of its arguments, and what is asked of a shape."""
