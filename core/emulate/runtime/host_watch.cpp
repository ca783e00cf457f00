#include "emulate/runtime/host_watch.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

#include <c10/util/Exception.h>

#include "emulate/runtime/device.h"
#include "emulate/runtime/full_size/unknown.h"
#include "memory/host_room.h"
#include "memory/ledger.h"
#include "memory/out_of_memory.h"

namespace devsan::emulate {

std::atomic<std::int64_t> g_until_next_look{0};

namespace {

std::atomic<bool> g_is_told{false};

const char* advice() {
  return FullSize::is_on() ? "Run a smaller model or batch, fewer steps, or fewer ranks"
                           : "Run with --full-size, where large tensors take no memory, or run a smaller model or "
                             "batch, fewer steps, or fewer ranks";
}

std::uint64_t held_by_gpus() {
  std::int64_t bytes = 0;
  for (c10::DeviceIndex index = 0; index < device_count(); ++index) bytes += memory::Ledger::live_bytes(index);
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

void look_at_host(std::size_t bytes, Taker taker) {
  using memory::format_size;
  if (device_count() == 0) return;  // the allocator outlives an emulation
  const memory::HostRoom room = memory::read_host_room();
  if (room.total == 0) {
    g_until_next_look.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
    return;
  }
  const std::uint64_t held = held_by_gpus();
  const std::string where = format_size(room.total) + " (" + std::string(memory::name(room.by)) + ")";
  TORCH_CHECK(taker == Taker::kProgram || bytes <= room.left, "devsan: expected ", format_size(bytes),
              " of host memory for a tensor on an emulated GPU, got ", format_size(room.left), " left of ", where,
              "; the emulated GPUs hold ", format_size(held), ". ", advice());
  if (bytes > room.left) return;  // the program's: torch says whether it can be had
  const std::uint64_t left = room.left - bytes;
  const std::uint64_t own = std::max(held, memory::resident_bytes()) + bytes;
  const bool is_full = left < room.total / 5 && own >= room.total / 10;
  if (is_full && !g_is_told.exchange(true, std::memory_order_relaxed)) {
    const std::string sentence = "devsan: warning: host memory is nearly full: " + format_size(left) + " left of " +
                                 where + "; the emulated GPUs hold " +
                                 format_size(taker == Taker::kGpu ? held + bytes : held) + ", this process " +
                                 format_size(own) + ". " + advice() + "\n";
    std::fputs(sentence.c_str(), stderr);
    std::fflush(stderr);
  }
  // Down to four fifths the next look is no later than there.
  const std::uint64_t fifth = room.total / 5;
  const std::uint64_t until = left > fifth ? std::min(left / 4, left - fifth) : left / 4;
  g_until_next_look.store(static_cast<std::int64_t>(until), std::memory_order_relaxed);
}

}  // namespace devsan::emulate
