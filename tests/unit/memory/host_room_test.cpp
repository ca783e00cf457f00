#include "memory/host_room.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace devsan::memory {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

/// A folder with files of /proc and /sys.
class Machine : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "host-room-XXXXXX").string();
    root_ = mkdtemp(name.data());
    write("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1048576 kB\nMemAvailable:    8388608 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  [[nodiscard]] HostRoom room() const { return read_host_room(root_); }

 private:
  std::string root_;
};

TEST_F(Machine, WithoutCgroupsAvailableMemoryIsLeft) {
  EXPECT_EQ(room().by, HostLimit::kMachine);
  EXPECT_EQ(room().total, 16 * kGib);
  EXPECT_EQ(room().left, 8 * kGib);
}

TEST_F(Machine, ACgroupOfVersion2BoundsIt) {
  write("/proc/self/cgroup", "0::/job/step\n");
  write("/sys/fs/cgroup/job/step/memory.max", "max\n");
  write("/sys/fs/cgroup/job/memory.max", std::to_string(4 * kGib));
  write("/sys/fs/cgroup/job/memory.current", std::to_string(3 * kGib));
  write("/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file " + std::to_string(2 * kGib) + "\n");
  EXPECT_EQ(room().by, HostLimit::kCgroup);
  EXPECT_EQ(room().total, 4 * kGib);
  EXPECT_EQ(room().left, 3 * kGib) << "the page cache can be given back";
}

TEST_F(Machine, ACgroupOfVersion1BoundsItFromTheRootOfAContainer) {
  write("/proc/self/cgroup", "9:cpu:/\n4:memory:/of/the/host\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(2 * kGib));
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(kGib));
  EXPECT_EQ(room().total, 2 * kGib);
  EXPECT_EQ(room().left, kGib);
}

TEST_F(Machine, ALimitThatIsLargerThanTheMachineIsNone) {
  write("/proc/self/cgroup", "4:memory:/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(kGib));
  EXPECT_EQ(room().by, HostLimit::kMachine);
}

TEST_F(Machine, ALimitThatIsReachedLeavesNothing) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/memory.max", std::to_string(kGib));
  write("/sys/fs/cgroup/memory.current", std::to_string(kGib + 4096));
  EXPECT_EQ(room().left, 0U);
}

TEST(HostRoom, NothingIsKnownOfAMachineWithoutFiles) { EXPECT_EQ(read_host_room("/nowhere").total, 0U); }

TEST(HostRoom, OfThisMachineSomethingIsKnown) {
  EXPECT_GT(read_host_room().total, 0U);
  EXPECT_LE(read_host_room().left, read_host_room().total);
}

}  // namespace
}  // namespace devsan::memory
