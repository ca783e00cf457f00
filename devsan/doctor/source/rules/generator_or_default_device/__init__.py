"""Random generators, and torch's default device."""
