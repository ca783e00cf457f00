#include "diagnose/held_memory.h"

#include <algorithm>
#include <array>
#include <vector>

#include "memory/out_of_memory.h"

namespace devsan::diagnose {

using memory::format_size;
using model::Argument;
using model::HeldMemory;
using model::HolderKind;
using model::MemoryHolder;
using model::MemoryPart;
using model::Message;

namespace {

/// What a kind is called in a list, and the sentence about its largest holders.
struct PartText {
  const char* name;
  const char* sentence;
};

/// In the order of HolderKind. What stands beside all that is allocated has no holders.
constexpr std::array<PartText, 15> kPartTexts = {{
    {"parameters", "Parameters: {largest}."},
    {"gradients", "Gradients: {largest}."},
    {"optimizer state", "Optimizer state: {largest}."},
    {"buffers", "Buffers: {largest}."},
    {"KV cache", "KV cache: {largest}."},
    {"tensors in lists and dictionaries", "Tensors in lists and dictionaries: {largest}."},
    {"autograd graphs of several passes", "Autograd graphs of several passes: {largest}."},
    {"buffers of collectives", "Buffers of collectives: {largest}."},
    {"activations and other results of operators", "Results of operators: {largest}."},
    {"temporary results of operators", "Temporary results of operators: {largest}."},
    {"other tensors", "Other tensors: {largest}."},
    {"workspaces of kernels", "Workspaces of kernels: {largest}."},
    {"reserved, not allocated (fragmentation)", ""},
    {"CUDA context", ""},
    {"unknown", "Unknown: {largest}."},
}};

const PartText& texts_of(HolderKind kind) { return kPartTexts[static_cast<std::size_t>(kind)]; }

Message holder_text(const MemoryHolder& holder) {
  std::vector<Argument> arguments = {{"bytes", format_size(holder.bytes)}, {"count", tensors_text(holder.tensors)}};
  if (!holder.name.empty()) {
    arguments.push_back({"name", holder.name});
    return holder.tensors == 1 ? Message{"{name} ({bytes})", arguments}
                               : Message{"{name} ({bytes} in {count})", arguments};
  }
  if (!holder.op.empty()) {
    arguments.push_back({"op", holder.op});
    return {"results of {op} ({bytes} in {count})", arguments};
  }
  arguments.push_back({"where", holder.where});
  return {"placed at {where} ({bytes} in {count})", arguments};
}

bool says_something(const MemoryHolder& holder) {
  return !holder.name.empty() || !holder.op.empty() || !holder.where.empty();
}

/// At most `most` of them.
Message largest_of(const MemoryPart& part, std::size_t most) {
  std::vector<Message> texts;
  for (const MemoryHolder& holder : part.largest) {
    if (says_something(holder) && texts.size() < most) texts.push_back(holder_text(holder));
  }
  return with_commas(texts);
}

std::uint64_t percent_of(const MemoryPart& part, const HeldMemory& held) {
  return held.allocated == 0 ? 0 : (part.bytes * 100 + held.allocated / 2) / held.allocated;
}

Message shares_of(const HeldMemory& held) {
  std::vector<Message> shares;
  for (const MemoryPart& part : held.parts) {
    const std::uint64_t percent = percent_of(part, held);
    if (percent == 0) continue;
    shares.push_back({"{part} {bytes} ({percent}%)",
                      {{"part", Message(texts_of(part.kind).name)},
                       {"bytes", format_size(part.bytes)},
                       {"percent", std::to_string(percent)}}});
  }
  return with_commas(shares);
}

constexpr std::size_t kKinds = 4;  ///< whose holders are told: a model in training has as many that are large

}  // namespace

Message tensors_text(std::uint64_t count) { return {"{n} tensor", "{n} tensors", static_cast<long>(count)}; }

std::uint64_t cached_of(const HeldMemory& held) { return held.reserved - std::min(held.reserved, held.allocated); }

std::uint64_t missing_of(const HeldMemory& held) { return held.tried > held.free ? held.tried - held.free : 0; }

Message holders_of(const HeldMemory& held) {
  std::vector<Message> told;
  for (const MemoryPart& part : held.parts) {
    if (percent_of(part, held) == 0 || told.size() == kKinds) continue;
    Message largest = largest_of(part, told.empty() ? 3 : 2);
    if (!largest.empty()) told.push_back({texts_of(part.kind).sentence, {{"largest", std::move(largest)}}});
  }
  if (told.empty()) return {};
  Message all = std::move(told.back());
  for (auto each = std::next(told.rbegin()); each != told.rend(); ++each) {
    all = {"{first} {rest}", {{"first", std::move(*each)}, {"rest", std::move(all)}}};
  }
  return all;
}

Message allocated_of(const HeldMemory& held) {
  std::vector<Argument> arguments = {{"allocated", format_size(held.allocated)}, {"shares", shares_of(held)}};
  const std::uint64_t missing = missing_of(held);
  if (missing == 0 || held.requested > held.total) return {"{allocated} are allocated: {shares}.", arguments};
  arguments.push_back({"missing", format_size(missing)});
  std::vector<Message> enough;
  for (const MemoryPart& part : held.parts) {
    if (part.bytes >= missing) enough.emplace_back(texts_of(part.kind).name);
  }
  if (enough.empty()) {
    return {"{allocated} are allocated: {shares}. {missing} are missing, more than any of these.", arguments};
  }
  arguments.push_back({"parts", with_commas(enough)});
  return {"{allocated} are allocated: {shares}. {missing} are missing; each of these alone holds that much: {parts}.",
          arguments};
}

}  // namespace devsan::diagnose
