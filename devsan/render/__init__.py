"""What is said of an error, and how it looks.

What is to be said (``facts``, made by ``build``; what the diagnosis adds, by ``cause``), how it looks (``plain``,
``site_lines``, ``cause_lines``; one file for each other format), in which ``language``; what a run file keeps.
"""
