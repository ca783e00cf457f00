#include "memory/settings.h"

#include <algorithm>
#include <bit>

#include "memory/settings_parser.h"

namespace devsan::memory {

Settings Settings::parse(std::string_view text) {
  Settings settings;
  settings.update(text);
  return settings;
}

void Settings::update(std::string_view text) {
  Settings next = *this;
  next.text_ = text;
  next.max_split_size_ = kUnlimited;
  next.roundup_power2_divisions_.fill(0);
  next.garbage_collection_threshold_ = 0.0;
  next.without_effect_.clear();
  SettingsParser(text, next).run();
  *this = std::move(next);
}

std::size_t Settings::roundup_power2_divisions(std::size_t size) const noexcept {
  constexpr int kFirstInterval = std::countr_zero(kMebibyte);
  const int log_size = static_cast<int>(std::bit_width(size)) - 1;
  const int index = std::clamp(log_size - kFirstInterval, 0, static_cast<int>(kIntervals) - 1);
  return roundup_power2_divisions_[static_cast<std::size_t>(index)];
}

std::vector<std::size_t> Settings::roundup_power2_divisions() const {
  return {roundup_power2_divisions_.begin(), roundup_power2_divisions_.end()};
}

std::vector<std::string> Settings::notes() const {
  std::vector<std::string> notes;
  if (backend_ != "native") {
    notes.push_back("backend:" + backend_ + " is emulated by the native allocator.");
  }
  for (const std::string& key : without_effect_) {
    notes.push_back(key + " is accepted and has no effect under emulation.");
  }
  return notes;
}

}  // namespace devsan::memory
