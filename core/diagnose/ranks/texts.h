#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/message.h"
#include "model/rank.h"

namespace devsan::diagnose::ranks {

/// "rank 3", "ranks 1-7", "ranks 0, 2 and 4-5".
model::Message ranks_text(std::vector<int> ranks);

/// How many, as a message asks for it that has two forms.
template <typename Items>
long count_of(const Items& items) {
  return static_cast<long>(items.size());
}

/// "4 KiB", "1.5 GiB".
model::Message bytes_text(std::uint64_t bytes);

/// "float32[1024]", "[1024]" without a dtype.
std::string type_text(const std::string& dtype, std::span<const std::int64_t> shape);

/// "all_reduce of float32[1024] (4 KiB)".
model::Message text_of(const model::Collective& call);

/// "torch.load: no map_location", "accelerate (AlignDevicesHook)", "this program".
model::Message owner_text(const model::Owner& owner);

/// ", at train.py:12" or nothing.
model::Message at_text(const model::Frame& frame);
/// ", at train.py:3", and in brackets which library the program was in.
model::Message at_text(const model::Collective& call);

}  // namespace devsan::diagnose::ranks
