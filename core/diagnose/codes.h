#pragma once

#include <span>
#include <string_view>

namespace devsan::diagnose {

/// A code: a public contract. Each is a folder, codes/<name>, with its manifest and its pages.
struct Code {
  std::string_view code;       ///< "DV101"
  std::string_view name;       ///< "single-device-assumption"
  std::string_view summary;    ///< one sentence
  std::string_view naive_fix;  ///< what a bare `.to(device)` at the failing line does instead of fixing it; may be ""
};

/// The code of a finding that names candidates only, because the evidence does not decide. It has no page of its own.
inline constexpr std::string_view kUndecided = "DV000";

// NOTE [Generated from the manifests]
// What is known of a code apart from its detector stands in codes/<name>/manifest.toml. tools/generate_codes.py makes
// of it the constants, the table below, the list of detectors (a file of causes/ or rank_causes/ that is named as the
// code) and the vocabulary. So a cause is two files: its manifest and its detector.

/// The codes by name: kKvCache is "DV106".
namespace code {
#include "diagnose/code_names.inc"
}  // namespace code

/// Every code, in order.
std::span<const Code> codes();

/// The entry of `code`, null when there is none.
const Code* find_code(std::string_view code);

}  // namespace devsan::diagnose

/// The words that the manifests list, which the detectors of all homes share: kv_cache::kParts.
namespace devsan::diagnose::words {
#include "diagnose/vocabulary.inc"
}  // namespace devsan::diagnose::words
