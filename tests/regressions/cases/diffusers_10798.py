# expect: DV115 | gpus: 2 | operands: - | owner: -
"""A checkpoint remembers the GPU that it was saved from.

No tensor is named: none was read yet.
"""

raise RuntimeError(
    "Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 2. "
    "Please use torch.load with map_location to map your storages to an existing device."
)
