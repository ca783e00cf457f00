"""Which way of sharing a launched job fits its GPUs, found by rehearsal.

``launch`` reads how the job is started, ``accelerate_way`` and ``deepspeed_way`` make the ``configuration`` of each
``strategy`` for it, and ``planner`` rehearses them. The program's text stays as it is.
"""
