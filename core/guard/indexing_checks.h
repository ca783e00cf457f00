#pragma once

#include "guard/operands.h"

namespace devsan::guard {

// The checks of the operators that take indices and masks. Each returns true: the operator checks nothing else.

bool check_index(const Call& call);
bool check_index_put(const Call& call);
bool check_index_fill(const Call& call);
bool check_masked_fill(const Call& call);
bool check_where(const Call& call);

/// The sorter of a search, which the generated check leaves out because it is keyword-only.
bool check_sorter(const Call& call);

}  // namespace devsan::guard
