"""One basis of waves over the whole domain."""
