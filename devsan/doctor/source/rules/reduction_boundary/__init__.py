"""Numbers and losses of several devices that are brought together."""
