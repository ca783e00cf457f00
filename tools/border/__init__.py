"""Reads the records of core/model, and writes what C++, Python and the run files take from them."""
