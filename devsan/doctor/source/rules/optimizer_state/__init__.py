"""Optimizers that do not step the tensors of the model."""
