"""Code that takes the current device for the one of its tensors, or of its rank."""
