"""What is true when a device failure is to be explained: facts, read from frames, modules and the core's records.

The way: an exception's chain and torch's sentence (``chain``, ``sentences``), the frames of the traceback (``frames``)
and the operands in them (``expressions``, ``tracking``, ``binding``, ``operands``), how each came to be where it is
(``trails``, with the owners of ``devsan.owners``), the models and optimizers of the process and its settings; all of it
as ``devsan._core.Facts``, which the core's diagnosis turns into findings (``explain``).

Nothing of the program runs for it: see NOTE [Nothing runs] in ``values``.
"""
