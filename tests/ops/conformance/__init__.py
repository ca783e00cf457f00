"""Compares every operator of torch's own lists on an emulated GPU with the CPU.

`python -m conformance` runs it (`make ops`). A sample comes from torch.testing._internal, is copied twice, to the CPU
and to cuda:1 while cuda:0 is current, and is run on both; results, devices, strides, views and versions must be equal.
"""
