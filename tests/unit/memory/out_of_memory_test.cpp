#include "memory/out_of_memory.h"

#include <gtest/gtest.h>

#include <string>

namespace devsan::memory {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

const std::string kHint =
    " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to "
    "avoid fragmentation.  See documentation for Memory Management  "
    "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)";

OutOfMemoryFigures figures() {
  OutOfMemoryFigures figures;
  figures.device = 1;
  figures.tried = 2 * kGiB;
  figures.device_total = 24 * kGiB;
  figures.device_free = 512 * kMiB;
  figures.process = 23 * kGiB + 512 * kMiB;
  figures.allocated = 22 * kGiB;
  figures.reserved = 23 * kGiB;
  return figures;
}

TEST(FormatSize, ChangesUnitAboveEachPowerOf1024) {
  EXPECT_EQ(format_size(0), "0 bytes");
  EXPECT_EQ(format_size(1024), "1024 bytes");
  EXPECT_EQ(format_size(1025), "1.00 KiB");
  EXPECT_EQ(format_size(1536), "1.50 KiB");
  EXPECT_EQ(format_size(kMiB), "1024.00 KiB");
  EXPECT_EQ(format_size(20 * kMiB), "20.00 MiB");
  EXPECT_EQ(format_size(kGiB), "1024.00 MiB");
  EXPECT_EQ(format_size(kGiB + kGiB / 2), "1.50 GiB");
  EXPECT_EQ(format_size(2048 * kGiB), "2048.00 GiB");
}

TEST(OutOfMemorySentence, NamesEveryFigure) {
  EXPECT_EQ(out_of_memory_sentence(figures(), {2, 13}),
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 24.00 GiB of which "
            "512.00 MiB is free. Including non-PyTorch memory, this process has 23.50 GiB memory in use. Of the "
            "allocated memory 22.00 GiB is allocated by PyTorch, and 1024.00 MiB is reserved by PyTorch but "
            "unallocated." +
                kHint);
}

TEST(OutOfMemorySentence, NamesTheOtherProcessAndTheCap) {
  OutOfMemoryFigures busy = figures();
  busy.busy = 3 * kGiB;
  busy.busy_process_id = 4711;
  busy.allowed = 12 * kGiB;
  EXPECT_EQ(out_of_memory_sentence(busy, {2, 14}),
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 24.00 GiB of which "
            "512.00 MiB is free. Process 4711 has 3.00 GiB memory in use. Including non-PyTorch memory, this process "
            "has 23.50 GiB memory in use. 12.00 GiB allowed; Of the allocated memory 22.00 GiB is allocated by "
            "PyTorch, and 1024.00 MiB is reserved by PyTorch but unallocated." +
                kHint);
}

TEST(OutOfMemorySentence, EndsAsItsReleaseDoes) {
  const auto ends_with = [](const TorchRelease& release, const std::string& end, bool expandable = false) {
    OutOfMemoryFigures at_hand = figures();
    at_hand.expandable_segments = expandable;
    return out_of_memory_sentence(at_hand, release).ends_with(end);
  };
  const std::string old_page = "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)";
  EXPECT_TRUE(ends_with({2, 9},
                        " PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
                        "documentation for Memory Management  " +
                            old_page));
  EXPECT_TRUE(ends_with({2, 10},
                        " PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
                        "documentation for Memory Management  " +
                            old_page));
  for (const int minor : {11, 12, 13, 14, 15}) {
    EXPECT_TRUE(ends_with({2, minor}, "but unallocated." + kHint)) << minor;
  }
  EXPECT_TRUE(ends_with({2, 13}, kHint, true)) << "before 2.14 the hint does not look at the setting";
  EXPECT_TRUE(ends_with({2, 14}, "is reserved by PyTorch but unallocated.", true));
  EXPECT_TRUE(ends_with({2, 15}, "expandable_segments_reserve / expandable_segments_reserve_by_class.", true));
}

TEST(OutOfMemory, CarriesFiguresAndSentence) {
  const OutOfMemory error(figures(), TorchRelease{2, 13});
  const OutOfMemory copy = error;
  EXPECT_EQ(copy.figures().device_free, 512 * kMiB);
  EXPECT_EQ(std::string(copy.what()), out_of_memory_sentence(figures(), {2, 13}));
}

TEST(OutOfMemory, ARequestBeyondOneExabyteHasItsOwnSentence) {
  EXPECT_STREQ(OutOfMemory::beyond_one_exabyte(0, 1).what(),
               "CUDA out of memory. Tried to allocate more than 1EB memory.");
}

}  // namespace
}  // namespace devsan::memory
