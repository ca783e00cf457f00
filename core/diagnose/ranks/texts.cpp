#include "diagnose/ranks/texts.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "diagnose/texts.h"

namespace devsan::diagnose::ranks {

using model::Collective;

std::string ranks_text(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<std::string> runs;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last == first + 1) {  // two in a row read better one by one
      runs.push_back(std::to_string(ranks[first]));
      first = last;
    }
    runs.push_back(first == last ? std::to_string(ranks[first])
                                 : std::to_string(ranks[first]) + "-" + std::to_string(ranks[last]));
    first = last + 1;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (run > 0) text += run + 1 == runs.size() ? " and " : ", ";
    text += runs[run];
  }
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double amount = static_cast<double>(bytes);
  while (amount >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  const bool whole = amount >= 100 || amount == static_cast<double>(static_cast<std::uint64_t>(amount));
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
  return text.data();
}

std::string text_of(const Collective& call) {
  std::string text = call.name.empty() ? "a collective" : call.name;
  if (!call.shapes.empty()) {
    text += " of " + (call.dtype.empty() ? std::string("tensor") : call.dtype) + "[";
    for (std::size_t place = 0; place < call.shapes.front().size(); ++place) {
      text += (place > 0 ? "," : "") + std::to_string(call.shapes.front()[place]);
    }
    text += "]";
    if (call.shapes.size() > 1) text += " and " + std::to_string(call.shapes.size() - 1) + " more";
  }
  if (call.bytes > 0) text += " (" + bytes_text(call.bytes) + ")";
  return text;
}

std::string owner_text(const model::Owner& owner) {
  model::Owner shown = owner;
  if (shown.mechanism == shown.name) shown.mechanism.clear();
  return diagnose::text_of(shown).text();
}

std::string at_text(const model::Frame& frame) {
  const std::string place = diagnose::text_of(&frame);
  return place.empty() ? "" : ", at " + place;
}

std::string at_text(const Collective& call) {
  const std::string place = at_text(call.where);
  return place.empty() || call.through.empty() ? place : place + " (" + call.through + ")";
}

}  // namespace devsan::diagnose::ranks
