"""What wraps a module for parallel work."""

from __future__ import annotations

import torch

from devsan.diagnostics.torch_names import REPLICA
from devsan.introspect.models.models import unwrapped


def test_a_replica_of_data_parallel_is_known_without_the_wrapper():
    module = torch.nn.Linear(2, 2)
    replica = module._replicate_for_data_parallel()
    assert unwrapped(replica) == (replica, ["torch.nn.DataParallel", REPLICA])
    assert unwrapped(module) == (module, [])


def test_the_wrapper_itself_is_named_once():
    module = torch.nn.Linear(2, 2)
    assert unwrapped(torch.nn.DataParallel(module)) == (module, ["torch.nn.DataParallel"])
