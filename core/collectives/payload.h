#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace devsan::collectives {

// What gloo is given for an emulated tensor: a tensor of the CPU over the same bytes. gloo reads and writes the memory
// that the program passed; nothing is copied unless it is said here.

/// The elements of `tensor`, dense in memory, as gloo can move them: a type that gloo does not know (float8, and what is
/// narrower or wider than it has) goes as bytes.
at::Tensor movable(const at::Tensor& tensor);

/// The elements of `tensor` as one row, in the order of memory. Shares memory.
at::Tensor flat(const at::Tensor& host);

/// Both at once: a row of elements that gloo can move.
at::Tensor row(const at::Tensor& tensor);
std::vector<at::Tensor> rows(const std::vector<at::Tensor>& tensors);

/// The elements of all together.
std::int64_t count(const std::vector<at::Tensor>& tensors);

/// How many elements of a movable tensor stand for one of `tensor`: more than 1 where they go as bytes.
std::int64_t units(const at::Tensor& tensor);

/// Fills a row with another one as far as that goes, then with zeros.
at::Tensor copy_what_fits(const at::Tensor& from, const at::Tensor& to);

/// A number for the bytes of all together: hashTensors of torch/csrc/distributed/c10d/NCCLUtils.cpp.
std::size_t hash_of(const std::vector<at::Tensor>& tensors);

}  // namespace devsan::collectives
