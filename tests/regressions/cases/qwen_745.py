# expect: DV203 | gpus: 2 | operands: - | owner: -
"""accelerate refuses to prepare a spread model for several processes.

No tensor is named: the refusal is about the configuration.
"""

raise ValueError(
    "You can't train a model that has been loaded with `device_map='auto'` in any distributed mode. "
    "Please rerun your script specifying `--num_processes=1` or by launching with `python {{myscript.py}}`."
)
