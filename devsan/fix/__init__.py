"""``devsan fix``: candidates are tried by rehearsal until the program runs to its end with the right numbers.

``search`` asks ``candidates`` what could be changed, ``experiment`` runs the program with a change, which ``overlay``
shows it without a file being touched, and ``numbers`` compares what it computed with what it computes on one device.
"""
