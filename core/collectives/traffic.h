#pragma once

#include <cstdint>

#include "collectives/call.h"

namespace devsan::collectives {

// NOTE [Bytes sent]
// What a rank sends for a collective is what NCCL's ring would have it send, averaged over the ranks: of n ranks, an
// all_reduce sends every element twice but for the n-th part, a reduce_scatter, broadcast or reduce once, and an all_gather
// a rank's part n - 1 times. Sizes are those of the program's tensors, also where nothing is moved at full size. Trees and
// NVLink's multicast send less.

/// Bytes that this rank sends for a call, in a group of so many.
std::int64_t bytes_sent_for(const Call& call, int rank, int ranks);

/// Adds them to what this process has sent, and has the memory of the call's tensors say that it is for collectives.
void note_traffic(const Call& call, int rank, int ranks);

/// Bytes that the collectives of this process have sent.
std::int64_t bytes_sent() noexcept;

}  // namespace devsan::collectives
