"""Which GPU has which part of a model, and whether it fits, found by rehearsal.

``measuring`` a program once on GPUs without limits says what each block of its model takes (devsan/blocks), the core
solves for the best map (core/plan), and a ``rehearsal`` with this map shows that it holds.
"""
