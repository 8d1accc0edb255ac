"""A domain in pieces that touch inside."""
