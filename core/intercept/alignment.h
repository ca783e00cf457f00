#pragma once

#include <functional>

namespace devsan::intercept {

/// NOTE [Going on after a mismatch]
/// Where CUDA would refuse a call for its devices, the policy `warn` tells it and then makes the call with its operands
/// on one device: that of the tensor that the operator writes, otherwise of the first one on a GPU. This happens at a
/// dispatch key above autograd, so that the copies are part of the graph and gradients find their way back. The key is
/// switched on for a thread; autograd's workers inherit it with the graph's thread state, and threads that Python starts
/// join (devsan/policy.py).
///
/// Composite operators pass: what they call is checked. Operators that torch does not declare itself pass too. Where one
/// of them refuses the devices below, and writes nothing, it is told then.

/// Called for a call that CUDA would refuse, on the thread that makes it, after guard::last_refusal has the facts.
using Told = std::function<void(const char* sentence)>;

/// Has the calling thread go on after mismatches. Replaces what was to be told before.
void start_alignment(Told told);

/// Has the calling thread go on as the one does that started it. Does nothing where none does.
void join_alignment();

/// The calling thread stops at mismatches again. A second call does nothing.
void stop_alignment();

}  // namespace devsan::intercept
