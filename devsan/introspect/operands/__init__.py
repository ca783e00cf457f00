"""The operands of a failure as facts: what each is, where it is kept, and how it came to be where it is."""
