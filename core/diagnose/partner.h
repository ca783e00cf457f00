#pragma once

#include "diagnose/hypothesis.h"
#include "diagnose/sides.h"

namespace devsan::diagnose {

// The operand that is where it should be, as text.

/// Tells what brought it there, where that is not the program's own doing. Returns whether there was anything to tell.
/// @param value that said the device of the other side, "" if it is not known
bool tell_what_brought_it(const Sides& sides, const std::string& value, Hypothesis& found);

/// Tells why it is where it is, where nothing brought it there: by a map, with its part of the model, by a value of its
/// own.
void tell_why_it_is_there(const Context& context, const Sides& sides, Hypothesis& found);

}  // namespace devsan::diagnose
