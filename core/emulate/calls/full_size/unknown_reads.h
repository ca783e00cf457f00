#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "record/recorder.h"

namespace devsan::emulate {

/// Whether an operator hands the program what is in a tensor: a number, or a result whose size depends on it.
bool is_read(std::string_view op) noexcept;

/// Has `told` called with the name of the operator, on the thread that reads, whenever a program reads numbers that were
/// never computed; an empty one ends that.
void set_told_of_reads(std::function<void(const std::string&)> told);

void tell_read(record::OperatorId op);

}  // namespace devsan::emulate
