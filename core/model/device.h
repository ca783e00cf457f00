#pragma once

#include <string>
#include <string_view>

namespace devsan::model {

/// A device as torch writes it: a type, and an index where there is one. An empty type: not known.
struct Device {
  std::string type;  ///< "cuda", "cpu", "meta", "disk" (a device map's word), "xpu", ...
  int index = -1;    ///< -1: none was said, as in "cuda" or "cpu"

  Device() = default;
  /// Reads "cuda:1", "cuda", "cpu". A bare number is a GPU, as in a device map: "1" is cuda:1.
  Device(std::string_view text);
  Device(const char* text) : Device(std::string_view(text)) {}
  Device(const std::string& text) : Device(std::string_view(text)) {}

  bool is_known() const { return !type.empty(); }
  bool is_host() const { return type == "cpu"; }
  bool is_meta() const { return type == "meta"; }
  /// Anything that computes and is not the host: cuda, xpu, npu, ...
  bool is_accelerator() const { return is_known() && !is_host() && !is_meta() && type != "disk"; }

  /// As torch prints it, "" when not known.
  std::string str() const;

  bool operator==(const Device&) const = default;
};

}  // namespace devsan::model
