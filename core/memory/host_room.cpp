#include "memory/host_room.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace devsan::memory {
namespace {

/// The number that a file consists of; none where it has no number ("max") or is not there.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

/// The number behind `key` in a file of lines "key number ...".
std::optional<std::uint64_t> number_of(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t number = 0;
    if (words >> name >> number && name == key) return number;
  }
  return std::nullopt;
}

void bound(HostRoom& room, HostLimit by, std::uint64_t total, std::uint64_t left) {
  left = std::min(left, total);
  if (room.total != 0 && room.left <= left) return;
  room = {by, total, left};
}

void bound_by_machine(HostRoom& room, const std::string& root) {
  constexpr std::uint64_t kKib = 1024;
  const auto total = number_of(root + "/proc/meminfo", "MemTotal:");
  const auto left = number_of(root + "/proc/meminfo", "MemAvailable:");
  if (total && left) bound(room, HostLimit::kMachine, *total * kKib, *left * kKib);
}

/// What the files of a cgroup are called.
struct CgroupFiles {
  const char* folder;
  const char* limit;
  const char* used;
  const char* cache;  ///< of memory.stat: what the kernel gives back before it kills
};
constexpr CgroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                   "total_inactive_file"};
constexpr CgroupFiles kVersion2 = {"/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"};

/// `path` and all above it: the least bounds. In a container the path may be that of the host; its own is the root then.
void bound_by_cgroup(HostRoom& room, const std::string& root, const CgroupFiles& files, std::string path) {
  while (true) {
    const std::string folder = root + files.folder + (path == "/" ? "" : path);
    const auto limit = number_in(folder + files.limit);
    const auto used = number_in(folder + files.used);
    if (limit && used) {
      const std::uint64_t cache = std::min(*used, number_of(folder + "/memory.stat", files.cache).value_or(0));
      const std::uint64_t held = *used - cache;
      // Version 1 has no word for no limit: it is as large as can be.
      if (room.total == 0 || *limit < room.total) {
        bound(room, HostLimit::kCgroup, *limit, *limit > held ? *limit - held : 0);
      }
    }
    const std::size_t end = path.rfind('/');
    if (end == std::string::npos || path.size() <= 1) return;
    path.resize(std::max<std::size_t>(end, 1));
  }
}

void bound_by_cgroups(HostRoom& room, const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");  // lines "number:controllers:path", cgroups(7)
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const std::string path = line.substr(second + 1);
    if (controllers.find(",memory,") != std::string::npos) bound_by_cgroup(room, root, kVersion1, path);
    if (controllers == ",,") bound_by_cgroup(room, root, kVersion2, path);
  }
}

void bound_by_address_space(HostRoom& room) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const auto pages = number_in("/proc/self/statm");
  if (!pages) return;
  const std::uint64_t used = *pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  bound(room, HostLimit::kAddressSpace, limit.rlim_cur, limit.rlim_cur > used ? limit.rlim_cur - used : 0);
}

}  // namespace

std::string_view name(HostLimit limit) noexcept {
  switch (limit) {
    case HostLimit::kCgroup:
      return "its cgroup";
    case HostLimit::kAddressSpace:
      return "ulimit -v";
    case HostLimit::kMachine:
      break;
  }
  return "the machine";
}

HostRoom read_host_room(const std::string& root) {
  HostRoom room;
  bound_by_machine(room, root);
  bound_by_cgroups(room, root);
  if (root.empty()) bound_by_address_space(room);
  return room;
}

std::uint64_t resident_bytes(const std::string& root) {
  std::ifstream file(root + "/proc/self/statm");
  std::uint64_t mapped = 0;
  std::uint64_t resident = 0;
  if (!(file >> mapped >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace devsan::memory
