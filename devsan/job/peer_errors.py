"""The errors that a rank has because another one is gone, or does not come."""

from __future__ import annotations

import re

_PEER_FAILED = re.compile(
    # gloo (transport/tcp/pair.cc, unbound_buffer.cc) and the stores (TCPStoreLibUvBackend)
    r"[Cc]onnection (closed|reset) by peer|[Cc]onnection was likely closed|Broken pipe|[Ss]ocket [Tt]imeout|"
    r"Timed out waiting|[Ww]ait timeout|Application timeout caused pair closure|failed to (recv|send)|"
    r"recvValue failed|Failed to TCPStore|The client socket has (failed|timed out)|but store->get\('0'\) got error|"
    # NCCL (ncclGetErrorString), its watchdog (ProcessGroupNCCL.cpp) and torch's launchers
    r"ncclRemoteError|remote process exited|communicator was aborted|collective operation timeout|"
    r"caused rank \d+ to|"
    # monitored_barrier, and DDP of a rank whose peer gave nothing
    r"failed to pass monitoredBarrier|has inconsistent 0 params"
)


def is_about_peer(text: str) -> bool:
    """Returns whether an error says that a peer rank is gone or did not come."""
    return _PEER_FAILED.search(text) is not None
