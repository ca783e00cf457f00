"""What is true when a device failure is to be explained: facts, read from frames, modules and the core's records.

``frames`` has an exception's chain and torch's sentence, the frames of the traceback and the operands in them;
``models`` the models and optimizers of the process; ``provenance`` how each tensor came to be where it is, with the
owners of ``devsan.owners``; ``operands`` puts them together for each tensor that failed; ``source`` the syntax that
they all read. ``explain`` collects it once, as ``core.Facts``, which the core's diagnosis turns into findings.

Nothing of the program runs for it: see NOTE [Nothing runs] in frames/values.py.
"""
