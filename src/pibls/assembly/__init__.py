"""Systems: points, and the rows that the statements of a problem give there."""
