#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "order/access.h"

namespace devsan::intercept {

/// NOTE [Seeing every access]
/// While the order of streams is checked (order/monitor.h), a dispatch key above autograd shows every operator of a
/// thread: what it reads and writes by its schema, on which stream it runs, and whether the host waits. Composites and
/// views touch nothing; what they call is seen. An operator on the CPU is seen where its tensors are pinned. What a
/// kernel calls for itself on the host is not looked at. The key is not switched on, and nothing is registered, until
/// somebody asks for the check. Autograd's workers inherit it, and threads that Python starts join.

/// Has the calling thread's operators seen.
void start_stream_watch();

/// Has them seen where another thread's are.
void join_stream_watch();

/// That the host reads `tensor` without an operator. Nothing where the thread's operators are not seen, or where the
/// memory is not pinned.
std::optional<order::Touch> host_read_of(const at::Tensor& tensor);

/// The calling thread's operators are not seen any more; returns whether they were. A second call does nothing.
bool stop_stream_watch();

}  // namespace devsan::intercept
