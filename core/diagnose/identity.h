#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// Of the failing operation: op, operand roles, owners, frame. The same in every run of the same source, whatever the
/// line numbers and folders are. 12 hexadecimal digits.
std::string failure_id(const Context& context, std::string_view code);

/// Of the placement that is to be changed: the same for every site that it breaks.
std::string cause_id(const Context& context, const Hypothesis& hypothesis);

/// Of a few texts: for a finding that is about no operation. 12 hexadecimal digits.
std::string texts_id(std::initializer_list<std::string_view> texts);

}  // namespace devsan::diagnose
