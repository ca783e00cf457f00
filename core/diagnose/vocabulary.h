#pragma once

#include <string_view>

// The words that the manifests of the codes list, which the detectors of all homes share: kv_cache::kParts. See
// NOTE [Generated from the manifests] in codes.h.
namespace devsan::diagnose::words {

#include "diagnose/vocabulary.inc"

}  // namespace devsan::diagnose::words
