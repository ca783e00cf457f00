"""The blocks of a model in a rehearsal: what each takes is measured, and a map of them is told to the program.

A rehearsal of ``devsan plan`` finds a request in its environment (``request``), and ``in_program`` carries it out:
``placing`` brings the map to where programs place models, ``levers`` changes the batch or turns checkpointing on,
``meter`` measures the blocks that ``tree`` finds.
"""
