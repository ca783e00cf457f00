#pragma once

#include <chrono>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace devsan::collectives {

// NOTE [How gloo is shut down]
// ~ProcessGroupGloo waits for what is queued and joins its threads (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp).
// The last that holds a communicator may be one of those threads, which cannot join itself; and what is queued may wait
// for ranks that never come. So a thread of its own does it. A process that forked has none of the threads, and the
// sockets are its parent's: there the backend is left as it is.

/// Releases a gloo backend in another thread, which shuts it down, and waits for that until `limit`; not at all in a
/// thread of gloo's.
/// @param process that made the backend
void async_shutdown(c10::intrusive_ptr<c10d::Backend> gloo, int process, std::chrono::milliseconds limit);

/// The calling thread is one of gloo's: it is never to wait for gloo.
void mark_thread_of_gloo() noexcept;

}  // namespace devsan::collectives
