#pragma once

#include <cstddef>
#include <cstdint>

#include <c10/core/Device.h>

namespace devsan::emulate {

// NOTE [Workspaces of cuBLAS]
// torch gives cuBLAS its workspace from the caching allocator, at the first product that a handle makes on a stream, and
// holds it until the process ends (aten/src/ATen/cuda/CublasHandlePool.cpp, setWorkspaceForHandle). A thread has a handle
// for each device, and leaves it to a later thread when it ends (detail/DeviceThreadHandles.h). So a job that trains has
// two on its stream: that of the main thread, and that of the thread of autograd. cuBLASLt shares it, unless
// TORCH_CUBLASLT_UNIFIED_WORKSPACE says no, which is not emulated.

/// Takes the workspace of the calling thread's handle on its current stream of `cuda:index`, unless it is there.
/// Raises torch.OutOfMemoryError.
void use_cublas(c10::DeviceIndex index);

/// The number of the calling thread's handle of `cuda:index`, from 0.
int cublas_handle(c10::DeviceIndex index);

/// torch._C._cuda_clearCublasWorkspaces: gives all of them back.
void clear_cublas_workspaces();

/// The size that a new workspace on `cuda:index` will have: CUBLAS_WORKSPACE_CONFIG, or torch's default for the GPU.
std::size_t cublas_workspace_size(c10::DeviceIndex index);
/// torch._C._cuda_setCublasWorkspaceSize; a workspace that is too small is replaced when it is used. Negative: the default.
void set_cublas_workspace_size(std::int64_t bytes);

}  // namespace devsan::emulate
