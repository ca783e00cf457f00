#include "memory/gauges.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace devsan::memory {
namespace {

[[noreturn]] void fail(int error, const std::string& path) {
  throw std::system_error(error, std::generic_category(), "what emulated GPUs hold is not shown: " + path);
}

}  // namespace

Gauges::Gauges(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    fail(errno, path);
  }
  int error = ::posix_fallocate(file, 0, sizeof(Layout));
  void* mapped = MAP_FAILED;
  if (error == 0) {
    mapped = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    error = errno;
  }
  ::close(file);
  if (mapped == MAP_FAILED) {
    ::unlink(path.c_str());
    fail(error, path);
  }
  layout_ = static_cast<Layout*>(mapped);
  layout_->format.store(kFormat);
}

Gauges::~Gauges() { ::munmap(layout_, sizeof(Layout)); }

void Gauges::count_step() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto time = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
  const std::uint64_t steps = layout_->steps.load(std::memory_order_relaxed);
  layout_->times[steps % kTimes].store(time, std::memory_order_relaxed);
  layout_->steps.store(steps + 1, std::memory_order_release);
}

}  // namespace devsan::memory
