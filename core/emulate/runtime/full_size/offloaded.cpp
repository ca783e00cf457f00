#include "emulate/runtime/full_size/offloaded.h"

#include <atomic>

namespace devsan::emulate {
namespace {

std::atomic<std::int64_t> g_now{0};
std::atomic<std::int64_t> g_peak{0};

}  // namespace

void Offloaded::take(std::int64_t bytes) noexcept {
  const std::int64_t now = g_now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (peak < now && !g_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void Offloaded::give(std::int64_t bytes) noexcept { g_now.fetch_sub(bytes, std::memory_order_relaxed); }

std::int64_t Offloaded::peak() noexcept { return g_peak.load(std::memory_order_relaxed); }

}  // namespace devsan::emulate
