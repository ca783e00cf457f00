#include "model/device.h"

#include <algorithm>
#include <charconv>

namespace devsan::model {

namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Device::Device(std::string_view text) {
  if (is_number(text)) {
    type = "cuda";
    std::from_chars(text.data(), text.data() + text.size(), index);
    return;
  }
  const auto colon = text.find(':');
  type = text.substr(0, colon);
  if (colon != std::string_view::npos && is_number(text.substr(colon + 1))) {
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), index);
  }
}

std::string Device::str() const { return index < 0 ? type : type + ":" + std::to_string(index); }

}  // namespace devsan::model
