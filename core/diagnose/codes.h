#pragma once

#include <span>
#include <string_view>

namespace devsan::diagnose {

/// A code: a public contract. Each has a page, codes/<code>.md.
struct Code {
  std::string_view code;       ///< "DV101"
  std::string_view name;       ///< "single-device-assumption"
  std::string_view title;      ///< one line for lists
  std::string_view bare_move;  ///< what a bare `.to(device)` at the failing line breaks, whole sentences
};

/// "The evidence does not decide": the code of a finding that names candidates only. It has no page of its own.
inline constexpr std::string_view kUndecided = "DV000";

/// Every code, in order. The one list of them: pages, `devsan explain` and the bindings follow it.
std::span<const Code> codes();

/// The entry of `code`, null when there is none.
const Code* find_code(std::string_view code);

}  // namespace devsan::diagnose
