#include "memory/settings_parser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <stdexcept>

#include "memory/settings.h"

namespace devsan::memory {

namespace {

// Keys that torch knows and that concern what is not emulated: pinned host memory, locking, graphs.
// The last two exist from torch 2.15 on.
constexpr std::array<std::string_view, 14> kWithoutEffect = {
    "release_lock_on_cudamalloc",        "release_lock_on_hipmalloc",
    "pinned_use_cuda_host_register",     "pinned_use_hip_host_register",
    "pinned_use_background_threads",     "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",    "pinned_free_catch_all",
    "pinned_max_round_threshold_mb",     "pinned_max_cached_size_mb",
    "graph_capture_record_stream_reuse", "throw_on_cudamalloc_oom",
    "expandable_segments_reserve",       "expandable_segments_reserve_by_class",
};

constexpr std::size_t kMostMebibytes = Settings::kUnlimited / kMebibyte;

[[noreturn]] void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

[[noreturn]] void refuse_value(const std::string& key, const char* expected, const std::string& got) {
  refuse("Expected " + std::string(expected) + " for '" + key + "' in CUDA allocator config, got '" + got + "'.");
}

}  // namespace

SettingsParser::SettingsParser(std::string_view text, Settings& settings) : settings_(settings) {
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty()) {
      tokens_.push_back(std::move(word));
      word.clear();
    }
  };
  for (const char letter : text) {
    if (letter == ',' || letter == ':' || letter == '[' || letter == ']') {
      finish_word();
      tokens_.emplace_back(1, letter);
    } else if (std::isspace(static_cast<unsigned char>(letter)) == 0) {
      word += letter;
    }
  }
  finish_word();
}

void SettingsParser::run() {
  while (at_ < tokens_.size()) {
    read_option(std::string(tokens_[at_]));
    at_ += 2;  // past the value and the comma, which torch does not check either
  }
}

void SettingsParser::read_option(const std::string& key) {
  if (key == "max_split_size_mb") {
    settings_.max_split_size_ = read_mebibytes_of_at_least_a_segment(key);
  } else if (key == "max_non_split_rounding_mb") {
    settings_.max_non_split_rounding_size_ = read_mebibytes_of_at_least_a_segment(key);
  } else if (key == "large_segment_size_mb") {
    read_large_segment_size(key);
  } else if (key == "garbage_collection_threshold") {
    read_garbage_collection_threshold(key);
  } else if (key == "roundup_power2_divisions") {
    read_divisions(key);
  } else if (key == "expandable_segments") {
    next_value(key);
    settings_.expandable_segments_ = to_bool(key);
  } else if (key == "per_process_memory_fraction") {
    read_memory_fraction(key);
  } else if (key == "backend") {
    read_backend(key);
  } else if (std::ranges::find(kWithoutEffect, key) != kWithoutEffect.end()) {
    read_without_effect(key);
  } else {
    refuse("Unrecognized key '" + key + "' in CUDA allocator config.");
  }
}

void SettingsParser::read_large_segment_size(const std::string& key) {
  next_value(key);
  const std::size_t mebibytes = to_number(key);
  if (mebibytes <= kMinLargeAlloc / kMebibyte) {
    refuse("CachingAllocator option large_segment_size_mb must be > " + std::to_string(kMinLargeAlloc / kMebibyte) +
           " MB");
  }
  settings_.large_segment_size_ = std::min(mebibytes, kMostMebibytes) * kMebibyte;
}

std::size_t SettingsParser::read_mebibytes_of_at_least_a_segment(const std::string& key) {
  next_value(key);
  const std::size_t mebibytes = to_number(key);
  const std::size_t least = settings_.large_segment_size_ / kMebibyte;
  if (mebibytes < least) {
    refuse("CachingAllocator option " + key + " too small, must be >= " + std::to_string(least));
  }
  return std::min(mebibytes, kMostMebibytes) * kMebibyte;
}

void SettingsParser::read_garbage_collection_threshold(const std::string& key) {
  next_value(key);
  const double threshold = to_fraction(key);
  if (!(threshold > 0.0 && threshold < 1.0)) {
    refuse("garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
  }
  settings_.garbage_collection_threshold_ = threshold;
}

void SettingsParser::read_memory_fraction(const std::string& key) {
  next_value(key);
  const double fraction = to_fraction(key);
  if (!(fraction >= 0.0 && fraction <= 1.0)) {
    refuse("per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
  }
  settings_.per_process_memory_fraction_ = fraction;
}

void SettingsParser::read_backend(const std::string& key) {
  const std::string& name = next_value(key);
  if (name != "native" && name != "cudaMallocAsync") {
    refuse("Unknown allocator backend, options are native and cudaMallocAsync");
  }
  settings_.backend_ = name;
}

void SettingsParser::read_divisions(const std::string& key) {
  if (next_value(key) == "[") {
    read_division_list(key);
    return;
  }
  const std::size_t divisions = to_number(key);
  if (!std::has_single_bit(divisions)) {
    refuse("For roundups, the divisions has to be power of 2 ");
  }
  settings_.roundup_power2_divisions_.fill(divisions);
}

// [256:1,512:2,>:8]: from which size on (MiB) how many divisions; '>' is everything above the last.
// The first entry also covers the sizes below it.
void SettingsParser::read_division_list(const std::string& key) {
  auto& by_interval = settings_.roundup_power2_divisions_;
  bool first = true;
  std::size_t last_index = 0;
  for (++at_; token(key) != "]"; ++at_) {
    if (token(key) == ",") {
      continue;
    }
    const std::string from = token(key);
    const std::size_t boundary = from == ">" ? 0 : to_number(key);
    next_value(key);
    const std::size_t divisions = to_number(key);
    if (divisions != 0 && !std::has_single_bit(divisions)) {
      refuse("For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
    }
    if (from == ">") {
      std::fill(by_interval.begin() + static_cast<std::ptrdiff_t>(std::min(last_index + 1, by_interval.size())),
                by_interval.end(), divisions);
      continue;
    }
    if (!std::has_single_bit(boundary)) {
      refuse("For roundups, the intervals have to be power of 2 ");
    }
    const auto index = std::min(static_cast<std::size_t>(std::countr_zero(boundary)), by_interval.size() - 1);
    if (first) {
      std::fill_n(by_interval.begin(), index, divisions);
      first = false;
    }
    by_interval[index] = divisions;
    last_index = index;
  }
}

void SettingsParser::read_without_effect(const std::string& key) {
  if (next_value(key) == "[") {
    while (token(key) != "]") {
      ++at_;
    }
  }
  settings_.without_effect_.push_back(key);
}

const std::string& SettingsParser::token(const std::string& key) const {
  if (at_ >= tokens_.size()) {
    refuse("Expected '" + key + ":value' in CUDA allocator config, got '" + settings_.text() + "'.");
  }
  return tokens_[at_];
}

/// Skips the ':' after what was just read and stands on the value.
const std::string& SettingsParser::next_value(const std::string& key) {
  at_ += 2;
  return token(key);
}

std::size_t SettingsParser::to_number(const std::string& key) const {
  try {
    return std::stoull(token(key));
  } catch (const std::logic_error&) {
    refuse_value(key, "a number", token(key));
  }
}

double SettingsParser::to_fraction(const std::string& key) const {
  try {
    return std::stod(token(key));
  } catch (const std::logic_error&) {
    refuse_value(key, "a number", token(key));
  }
}

bool SettingsParser::to_bool(const std::string& key) const {
  const std::string& value = token(key);
  if (value != "True" && value != "False") {
    refuse("Expected 'True' or 'False' at index " + std::to_string(at_) + " in ConfigTokenizer but got '" + value +
           "'");
  }
  (void)key;
  return value == "True";
}

}  // namespace devsan::memory
