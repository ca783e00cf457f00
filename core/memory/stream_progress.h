#pragma once

#include <cstdint>

#include "memory/block.h"

namespace devsan::memory {

/// How far the streams of the GPUs have come, as far as the host can know.
///
/// NOTE [A GPU behind its host]
/// A block that `record_stream` was called on stays reserved after it is freed until the GPU has done what had been launched
/// by then. How far a GPU is behind depends on its speed, which is not emulated. It is taken to be as far behind as CUDA
/// lets it be, as in a training step, where the host waits for the GPU: the block is free when the host has waited for its
/// streams, when memory is short, or when the queue of launches has been filled once since. A launch waits behind about
/// 1,000 others (forums.developer.nvidia.com/t/68937); an allocation stands for one, as nearly every kernel has a result.
class StreamProgress {
 public:
  virtual ~StreamProgress() = default;

  /// A moment behind all that has been launched on `stream` of `device` so far.
  virtual std::uint64_t launched(int device, StreamId stream) = 0;
  /// Whether the host knows that `stream` has come to `moment`.
  virtual bool is_done(int device, StreamId stream, std::uint64_t moment) = 0;
};

/// Allocations after which the GPU has come to where the host was.
inline constexpr std::uint64_t kLaunchQueue = 1024;

}  // namespace devsan::memory
