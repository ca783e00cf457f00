#include "diagnose/ranks/texts.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "diagnose/texts.h"

namespace devsan::diagnose::ranks {

using model::Collective;
using model::Message;

Message ranks_text(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<Message> runs;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last == first + 1) {  // two in a row read better one by one
      runs.emplace_back(std::to_string(ranks[first]));
      first = last;
    }
    runs.emplace_back(first == last ? std::to_string(ranks[first])
                                    : std::to_string(ranks[first]) + "-" + std::to_string(ranks[last]));
    first = last + 1;
  }
  return {"rank {numbers}", "ranks {numbers}", count_of(ranks), {{"numbers", list_of(runs)}}};
}

Message bytes_text(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return {"{n} byte", "{n} bytes", static_cast<long>(bytes)};
  std::size_t unit = 0;
  double amount = static_cast<double>(bytes);
  while (amount >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  const bool whole = amount >= 100 || amount == static_cast<double>(static_cast<std::uint64_t>(amount));
  std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
  return std::string(text.data());
}

std::string type_text(const std::string& dtype, std::span<const std::int64_t> shape) {
  std::string text = dtype + "[";
  for (std::size_t place = 0; place < shape.size(); ++place) {
    text += (place > 0 ? "," : "") + std::to_string(shape[place]);
  }
  return text + "]";
}

Message text_of(const Collective& call) {
  Message text = call.name.empty() ? Message("a collective") : Message(call.name);
  if (!call.shapes.empty()) {
    const std::string type = type_text(call.dtype.empty() ? "tensor" : call.dtype, call.shapes.front());
    const std::size_t more = call.shapes.size() - 1;
    if (more == 0) {
      text = {"{call} of {tensor}", {{"call", std::move(text)}, {"tensor", type}}};
    } else {
      text = {"{call} of {tensor} and {count} more",
              {{"call", std::move(text)}, {"tensor", type}, {"count", std::to_string(more)}}};
    }
  }
  if (call.bytes > 0) text = {"{call} ({size})", {{"call", std::move(text)}, {"size", bytes_text(call.bytes)}}};
  return text;
}

Message owner_text(const model::Owner& owner) {
  model::Owner shown = owner;
  if (shown.mechanism == shown.name) shown.mechanism.clear();
  return diagnose::text_of(shown);
}

Message at_text(const model::Frame& frame) {
  const std::string place = diagnose::text_of(&frame);
  if (place.empty()) return {};
  return {", at {place}", {{"place", place}}};
}

Message at_text(const Collective& call) {
  const std::string place = diagnose::text_of(&call.where);
  if (place.empty() || call.through.empty()) return at_text(call.where);
  return {", at {place}", {{"place", place + " (" + call.through + ")"}}};
}

}  // namespace devsan::diagnose::ranks
