#pragma once

#include <cstdint>

#include "diagnose/texts.h"
#include "model/facts.h"

namespace devsan::diagnose {

// What holds the memory of a GPU that has no room, in words.

/// What is allocated, and which parts of it would make room for this one request if they went.
model::Message allocated_of(const model::HeldMemory& held);

/// The largest holders of each large kind, as one piece of evidence: three of the largest kind, and two of each other.
model::Message holders_of(const model::HeldMemory& held);

/// The bytes that have to be freed for the request.
std::uint64_t missing_of(const model::HeldMemory& held);

/// The bytes that are reserved and not allocated.
std::uint64_t cached_of(const model::HeldMemory& held);

/// "3 tensors".
model::Message tensors_text(std::uint64_t count);

}  // namespace devsan::diagnose
