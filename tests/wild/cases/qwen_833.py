# expect: DV203 | gpus: 2 | operands: - | owner: -
"""transformers refuses a map beside ZeRO-3."""

raise ValueError("DeepSpeed Zero-3 is not compatible with passing a `device_map`.")
