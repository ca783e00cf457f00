#pragma once

#include "diagnose/sides.h"
#include "model/message.h"

namespace devsan::diagnose {

// The operand whose device is to blame, as text.

/// What put it where it is, and the other one not.
model::Message how_it_came(const Sides& sides);

/// Where the two are, and why they are apart: a title.
model::Message title_of(const Sides& sides);

}  // namespace devsan::diagnose
