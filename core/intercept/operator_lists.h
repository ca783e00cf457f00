#pragma once

#include <string>

namespace devsan::intercept {

// Which operators are not served by the general kernel, by full name ("aten::add.Tensor"). Everything else is found by
// asking the dispatcher what has a CPU kernel.

/// It has a kernel of its own: see hand_written.h.
bool is_hand_written(const std::string& name);

/// A composite without a CPU kernel that is nevertheless taken whole. See NOTE [Operators taken whole].
bool is_taken_whole(const std::string& name);

/// A recurrent network or cell. See NOTE [Through the host].
bool goes_through_host(const std::string& name);

/// torch has it for CPU tensors and not for CUDA ones: a program that calls it fails on a GPU, so it fails here.
bool is_cpu_only(const std::string& name);

}  // namespace devsan::intercept
