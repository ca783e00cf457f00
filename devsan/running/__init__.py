"""What runs on emulated GPUs now: each process announces itself in a folder, and ``devsan top`` reads it.

A process writes a small file when its emulation starts (``announcement``), and shows what it holds in a file that it
has mapped (``gauges``); who looks pays for looking. Failing to announce costs the process its line there, no more.
"""
