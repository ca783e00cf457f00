#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::memory {

class Settings;

/// Reads the text of PYTORCH_CUDA_ALLOC_CONF into a Settings. One use per object.
class SettingsParser {
 public:
  SettingsParser(std::string_view text, Settings& settings);

  /// @throws std::invalid_argument
  void run();

 private:
  void read_option(const std::string& key);
  void read_large_segment_size(const std::string& key);
  std::size_t read_mebibytes_of_at_least_a_segment(const std::string& key);
  void read_garbage_collection_threshold(const std::string& key);
  void read_memory_fraction(const std::string& key);
  void read_backend(const std::string& key);
  void read_divisions(const std::string& key);
  void read_division_list(const std::string& key);
  void read_without_effect(const std::string& key);

  const std::string& token(const std::string& key) const;
  const std::string& next_value(const std::string& key);
  std::size_t to_number(const std::string& key) const;
  double to_fraction(const std::string& key) const;
  bool to_bool(const std::string& key) const;

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;  ///< the token being read
  Settings& settings_;
};

}  // namespace devsan::memory
