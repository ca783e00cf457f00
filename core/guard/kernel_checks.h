#pragma once

#include <string_view>

#include "guard/operands.h"

namespace devsan::guard {

/// Whether `check_kernel` knows the operator.
bool has_kernel_check(std::string_view op);

/// How many 0-dim CPU operands its check accepts beside operands that agree.
int free_host_scalars(std::string_view op);

/// The checks that stand in a kernel's own source rather than in generated code, in that kernel's words.
/// @return true when the kernel has checks of its own and accepts the operands: nothing else is checked then.
bool check_kernel(std::string_view op, const Call& call);

/// What a kernel checks beside the generated check, and after it.
void check_further(std::string_view op, const Call& call);

}  // namespace devsan::guard
