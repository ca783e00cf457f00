"""Live models, checked: who places them, and what is wrong with it. ``devsan.doctor(model, optimizer)``.

The way: what was given becomes a `Subject` (``subject``), the hooks that are on its modules and whose they are
(``hooks``), the lines that put them there (``lines``); ``rules`` check it, one noun each, and yield the doctor's
findings (``check``); ``diagnosis`` is what the caller gets. Of its own accord the same checks beside a report on a
failure (``beside``) and at the first step of an optimizer (``watch``).

Nothing of the program runs for it: see NOTE [Nothing runs] in devsan/introspect/frames/values.py.
"""
