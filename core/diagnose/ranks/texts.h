#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/rank.h"

namespace devsan::diagnose::ranks {

/// "rank 3", "ranks 1-7", "ranks 0, 2 and 4-5".
std::string ranks_text(std::vector<int> ranks);

/// The form of a verb, a pronoun or a noun for so many ranks: `form(ranks, "waits", "wait")`.
template <typename Ranks>
const char* form(const Ranks& ranks, const char* one, const char* several) {
  return ranks.size() == 1 ? one : several;
}

/// "4 KiB", "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

/// "all_reduce of float32[1024] (4 KiB)".
std::string text_of(const model::Collective& call);

/// "torch.load: no map_location", "accelerate (AlignDevicesHook)", "this program".
std::string owner_text(const model::Owner& owner);

/// ", at train.py:12" or nothing.
std::string at_text(const model::Frame& frame);
/// ", at train.py:3", and in brackets which library the program was in.
std::string at_text(const model::Collective& call);

}  // namespace devsan::diagnose::ranks
