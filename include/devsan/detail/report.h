#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "devsan/detail/rows.h"

/// The words of a report. They are those of devsan/checks.py and devsan/render, whose first lines it has.
namespace devsan::detail {

/// Rows of one device that are told one by one; of more, how many there are.
inline constexpr std::size_t kToldOfADevice = 6;

inline std::string joined(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (at > 0) text += at + 1 == words.size() ? last : ", ";
    text += words[at];
  }
  return text;
}

/// The place, and under it the tensors:
///
///     error: operands of DEVSAN_CHECK are on cpu and meta
///       --> forward.cpp:42:3
///        |
///        | hidden  float32[2,3]  on cpu
///        | mask    bool[2,3]     on meta
///        | ^^^^
///        |
///        = in: at::Tensor forward(const at::Tensor&)
inline std::string body(const Rows& rows, std::string_view called, const std::source_location& where) {
  const std::string line = std::to_string(where.line());
  const std::string bar = std::string(line.size() + 2, ' ') + "|";
  std::string text = "error: operands of " + std::string(called) + " are on " + joined(rows.devices(), " and ") + "\n";
  text += std::string(line.size() + 1, ' ') + "--> " + where.file_name() + ":" + line;
  if (where.column() != 0) text += ":" + std::to_string(where.column());
  text += "\n" + bar + "\n";

  std::size_t widest_name = 0;
  std::size_t widest_kind = 0;
  for (const Row& row : rows.all()) {
    widest_name = std::max(widest_name, row.name.size());
    widest_kind = std::max(widest_kind, row.kind.size());
  }
  std::vector<std::pair<std::string, std::size_t>> told;
  for (const Row& row : rows.all()) {
    const std::string device = row.device.str();
    auto count = std::find_if(told.begin(), told.end(), [&](const auto& each) { return each.first == device; });
    if (count == told.end()) count = told.insert(told.end(), {device, 0});
    if (++count->second > kToldOfADevice) continue;
    text += bar + " " + row.name + std::string(widest_name - row.name.size() + 2, ' ') + row.kind +
            std::string(widest_kind - row.kind.size() + 2, ' ') + "on " + device + "\n";
    if (row.odd) text += bar + " " + std::string(row.name.size(), '^') + "\n";
  }
  for (const auto& [device, count] : told) {
    if (count > kToldOfADevice)
      text += bar + " and " + std::to_string(count - kToldOfADevice) + " more on " + device + "\n";
  }
  text += bar + "\n";
  return text + std::string(line.size() + 2, ' ') + "= in: " + where.function_name();
}

/// The report of devsan::check. Out of line: it is for the day on which something is wrong.
[[gnu::noinline, gnu::cold]] inline std::string report_of_check(const Rows& rows, std::string_view called,
                                                                const std::source_location& where) {
  std::vector<std::string> devices = rows.devices();
  std::sort(devices.begin(), devices.end());
  return "expected all tensors that are checked here on one device, got " + joined(devices, ", ") + "\n\n" +
         body(rows, called, where);
}

/// The report of devsan::expect.
[[gnu::noinline, gnu::cold]] inline std::string report_of_expect(const Rows& rows, std::string_view called,
                                                                 const std::source_location& where) {
  const std::vector<std::string> devices = rows.devices();
  const auto odd = std::find_if(rows.all().begin(), rows.all().end(), [](const Row& row) { return row.odd; });
  return "expected tensors on " + devices.front() + " here, but " + odd->name + " is on " + odd->device.str() + "\n\n" +
         body(rows, called, where);
}

}  // namespace devsan::detail
