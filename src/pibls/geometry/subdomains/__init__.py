"""Partitions of a domain into subdomains with interfaces between them."""
