"""Pages of docs/ generated from stored data: templates with blanks, and modules that compute the values.

A template ``NAME.md`` has ``{{blanks}}`` for numbers and lists of cases; the module of the same name computes
them. ``python -m benchmarks.pages`` writes all pages; nothing is measured.
"""
