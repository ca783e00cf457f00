#pragma once

#include <c10/core/Stream.h>

namespace devsan::emulate {

/// Streams of emulated GPUs. Every operator is finished when it returns, so a stream orders nothing; it has an
/// identity, a device and a priority, which programs compare and pass on.

/// The calling thread's current stream of `cuda:index`; 0 is the default stream.
c10::StreamId current_stream_id(c10::DeviceIndex index) noexcept;

/// Makes `stream` the calling thread's current one of its device; returns the one before.
c10::Stream exchange_stream(c10::Stream stream) noexcept;

/// A stream that no one has yet. CUDA hands out 32 streams a priority and device in turn (c10/cuda/CUDAStream.cpp);
/// so does this.
c10::Stream new_stream(c10::DeviceIndex index, int priority);

/// The stream whose `native_handle` this is. As in c10/cuda/CUDAStream.cpp, a handle that is no stream of ours (one that
/// another library made) is its own id.
c10::StreamId stream_of_handle(std::uintptr_t handle) noexcept;

/// The priority that `stream` was made with: 0, or negative for more urgent ones.
int stream_priority(c10::StreamId id) noexcept;

/// What `torch.cuda.Stream.cuda_stream` shows: 0 for the default stream, otherwise a number of its own.
std::uintptr_t native_handle(c10::StreamId id) noexcept;

}  // namespace devsan::emulate
