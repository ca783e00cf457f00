#include "memory/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

namespace devsan::memory {
namespace {

struct StatLine {
  char state = 0;
  std::uint32_t start = 0;
};

/// The state and the start of a process: fields 3 and 22 of its stat, proc_pid_stat(5). Fields are counted from the last
/// parenthesis on, for the name between them is the program's own. nullopt when there is no such file.
std::optional<StatLine> read_stat(std::uint32_t process_id) noexcept {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%u/stat", process_id);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return std::nullopt;
  }
  std::array<char, 1024> buffer{};
  const ssize_t size = ::read(file, buffer.data(), buffer.size());
  ::close(file);
  const std::string_view text(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  std::size_t place = text.rfind(')');
  if (place == std::string_view::npos || place + 2 >= text.size()) {
    return std::nullopt;
  }
  StatLine found{.state = text[place + 2]};
  constexpr int kSpacesBeforeStart = 20;
  for (int space = 0; space < kSpacesBeforeStart && place != std::string_view::npos; ++space) {
    place = text.find(' ', place + 1);
  }
  if (place == std::string_view::npos) {
    return std::nullopt;
  }
  std::uint64_t start = 0;
  std::from_chars(text.data() + place + 1, text.data() + text.size(), start);
  found.start = static_cast<std::uint32_t>(start);
  return found;
}

}  // namespace

ProcessIdentity own_identity() noexcept {
  const auto process_id = static_cast<std::uint32_t>(::getpid());
  const std::optional<StatLine> stat = read_stat(process_id);
  return (std::uint64_t{process_id} << 32) | (stat ? stat->start : 0U);
}

bool is_alive(ProcessIdentity identity) noexcept {
  const std::uint32_t process_id = process_id_of(identity);
  const std::optional<StatLine> stat = read_stat(process_id);
  if (!stat) {  // gone, or a system without /proc
    return ::kill(static_cast<pid_t>(process_id), 0) == 0 || errno != ESRCH;
  }
  const auto start = static_cast<std::uint32_t>(identity);
  return stat->state != 'Z' && stat->state != 'X' && (start == 0 || stat->start == start);
}

}  // namespace devsan::memory
