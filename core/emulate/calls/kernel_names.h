#pragma once

#include <string>
#include <string_view>

namespace devsan::emulate {

/// The name of an operator without its overload and without the underscore of its in-place form.
std::string_view stem_of(std::string_view op);

/// What CUDA's dispatch macro calls the kernel that the CPU's calls `kernel` ("silu_cpu"), in the operator `op`
/// ("aten::silu"). The same name where it is not known.
std::string name_of_cuda_kernel(std::string_view op, std::string_view kernel);

}  // namespace devsan::emulate
