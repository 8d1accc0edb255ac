"""Domains that consist of several subdomains with different materials."""
