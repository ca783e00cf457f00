#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <c10/core/ScalarType.h>

#include "guard/operands.h"
#include "memory/out_of_memory.h"

namespace devsan::guard {

// NOTE [Dtypes that CUDA lacks]
// A kernel is compiled for the dtypes that its AT_DISPATCH macro names, on CUDA for others than on the CPU: a product of
// integers runs on the CPU alone. Where the CPU lacks a reduced precision too, the call would be made again in float32 (NOTE
// [Reduced precision that the CPU lacks] in emulate/calls/cpu_call.h). So the dtypes of CUDA's kernels are looked at first.
// What is not in the table is accepted, and everything in a release that the table does not know: a program must not fail
// here that runs on a GPU. The macros are no part of an
// installed torch, so the table is kept by hand, and compared with torch's own lists of the dtypes that operators take
// on CUDA (`tools/ops.sh dtypes`).

/// A set of dtypes, a bit for each.
using DtypeSet = std::uint64_t;

constexpr DtypeSet set_of(at::ScalarType type) { return DtypeSet{1} << static_cast<unsigned>(type); }

template <typename... Types>
constexpr DtypeSet set_of(at::ScalarType type, Types... types) {
  return set_of(type) | set_of(types...);
}

/// Which dtypes a kernel of CUDA takes.
struct DtypeCheck {
  std::string_view op;         ///< without overload, in-place and out= forms included: "aten::addmm"
  std::string_view kernel;     ///< as its AT_DISPATCH calls it: "addmm_cuda"
  DtypeSet accepted;           ///< by that kernel
  std::string_view operand{};  ///< whose dtype is dispatched on; the first tensor where this is empty
  /// Raises what CUDA raises where that is not AT_DISPATCH's sentence. May return: the call is accepted.
  void (*refuse)(const DtypeCheck& check, const Call& call, at::ScalarType type) = nullptr;
  /// Called where the tensors are of several dtypes: raises if CUDA does not take them together.
  void (*compare)(const Call& call, at::ScalarType type) = nullptr;
  memory::TorchRelease last{2, 15};  ///< the last release in which the kernel takes no more than that
};

/// Whether a call needs a look: some tensor is of a dtype that the kernel does not take, or of another than the rest.
/// @param dtypes of the call's tensors
constexpr bool is_suspect(DtypeSet refused, bool compares, DtypeSet dtypes) noexcept {
  return (dtypes & refused) != 0 || (compares && (dtypes & (dtypes - 1)) != 0);
}

/// The check of the operator `name` ("aten::addmm.out") in a release of torch, or null where every dtype is accepted.
const DtypeCheck* dtype_check_of(std::string_view name, memory::TorchRelease release);

/// Raises, in CUDA's words, where the kernel is not compiled for the dtype of the call.
/// @param arguments the call's arguments at the end of this stack
void check_dtypes(const DtypeCheck& check, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments);

}  // namespace devsan::guard
