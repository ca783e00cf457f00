"""One OpenMP thread for every test process and for what it starts.

The tests run side by side, and many compare numbers with the CPU's to the last bit, which holds for equal numbers of
threads only. `torch.set_num_threads` does not reach the threads that autograd has already started for the devices, so
the number is set before torch is imported.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"
