"""The pages of docs/ whose numbers come from stored data: a text with blanks, and what fills them.

Beside each module lies a text, ``NAME.md``, with ``{{blanks}}`` where a number or a list of cases belongs;
the module computes them. ``python -m benchmarks.pages`` writes them all; nothing is measured.
"""
