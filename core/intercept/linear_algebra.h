#pragma once

#include <torch/library.h>

namespace devsan::intercept {

/// Registers the operators of torch.linalg with an argument that CUDA and the CPU take differently: the `driver` of svd
/// and lstsq names a routine of cuSOLVER's or LAPACK's, and only CUDA has an LU without pivoting.
void register_linear_algebra(torch::Library& library);

}  // namespace devsan::intercept
