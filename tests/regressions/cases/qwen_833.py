# expect: DV203 | gpus: 2 | operands: - | owner: -
"""transformers refuses a map beside ZeRO-3.

No tensor is named: the refusal is about the configuration.
"""

raise ValueError("DeepSpeed Zero-3 is not compatible with passing a `device_map`.")
