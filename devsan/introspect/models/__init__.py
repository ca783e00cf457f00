"""What the frames lead to: models, optimizers, and whatever else keeps tensors."""
