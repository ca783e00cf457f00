"""Diagnostics and runs on a terminal, and wherever else there are columns."""
