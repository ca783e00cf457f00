#include "emulate/runtime/full_size/unknown.h"

#include <sys/mman.h>

#include <gtest/gtest.h>

#include <ATen/Functions.h>

#include "emulate/runtime/full_size/lazy_memory.h"
#include "emulate/runtime/full_size/offloaded.h"
#include "emulate/runtime/host_allocator.h"

namespace devsan::emulate {
namespace {

constexpr std::size_t kKiB = 1024;

/// Tensors above `line` bytes have no numbers as long as it lives.
struct AtFullSize {
  explicit AtFullSize(std::size_t line) {
    host_allocator().install();
    FullSize::start(line);
  }
  AtFullSize(const AtFullSize&) = delete;
  AtFullSize& operator=(const AtFullSize&) = delete;
  ~AtFullSize() { FullSize::stop(); }
};

TEST(FullSize, LargeTensorsHaveNoNumbers) {
  const AtFullSize on(64 * kKiB);
  EXPECT_FALSE(FullSize::leaves_out(64 * kKiB, at::kFloat));
  EXPECT_TRUE(FullSize::leaves_out(64 * kKiB + 1, at::kFloat));
}

TEST(FullSize, IntegersAndBooleansHaveThemMuchLonger) {
  const AtFullSize on(64 * kKiB);
  EXPECT_FALSE(FullSize::leaves_out(16 * kKiB * kKiB, at::kLong));
  EXPECT_TRUE(FullSize::leaves_out(17 * kKiB * kKiB, at::kLong));
  EXPECT_FALSE(FullSize::leaves_out(kKiB * kKiB, at::kBool));
  EXPECT_FALSE(FullSize::leaves_out(kKiB * kKiB, at::kByte)) << "a pickled object";
  EXPECT_TRUE(FullSize::leaves_out(8 * kKiB * kKiB, at::kByte)) << "quantized weights";
}

TEST(FullSize, ASingleNumberHasItsValueWhereverTheLineIs) {
  const AtFullSize on(0);
  EXPECT_FALSE(FullSize::leaves_out(16, at::kComplexDouble));
  EXPECT_TRUE(FullSize::leaves_out(20, at::kFloat));
}

TEST(FullSize, WithoutItNothingIsLeftOut) { EXPECT_FALSE(FullSize::leaves_out(std::size_t{1} << 40, at::kFloat)); }

TEST(Unknown, ALargeTensorHasAddressesAndNoRoom) {
  const AtFullSize on(64 * kKiB);
  const std::int64_t count = std::int64_t{1} << 38;  // a terabyte: more than any machine of ours has
  const at::Tensor tensor = make_unknown({count}, at::kFloat, at::MemoryFormat::Contiguous);
  EXPECT_TRUE(is_unknown(tensor));
  EXPECT_TRUE(is_untouched(tensor));
  EXPECT_EQ(tensor.storage().nbytes(), static_cast<std::size_t>(count) * sizeof(float));
}

TEST(Unknown, WhatIsReleasedIsUnmapped) {
  const AtFullSize on(64 * kKiB);
  const std::int64_t before = Offloaded::peak();
  void* page = nullptr;
  {
    const at::Tensor tensor = make_unknown({std::int64_t{1} << 30}, at::kFloat, at::MemoryFormat::Contiguous);
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.unsafeGetTensorImpl()->mutable_data());
    page = reinterpret_cast<void*>(address / 4096 * 4096);  // NOLINT(performance-no-int-to-ptr)
    EXPECT_EQ(msync(page, 4096, MS_ASYNC), 0) << "it is mapped";
  }
  EXPECT_GE(Offloaded::peak(), before + (std::int64_t{4} << 30));
  EXPECT_EQ(msync(page, 4096, MS_ASYNC), -1);
  const at::Tensor next = make_unknown({std::int64_t{1} << 30}, at::kFloat, at::MemoryFormat::Contiguous);
  EXPECT_LT(Offloaded::peak(), before + (std::int64_t{5} << 30)) << "of both at once";
}

TEST(Unknown, ASmallOneHasMemoryForItsStandIns) {
  const AtFullSize on(64 * kKiB);
  const at::Tensor tensor = make_unknown({16}, at::kFloat, at::MemoryFormat::Contiguous);
  EXPECT_TRUE(is_unknown(tensor));
  EXPECT_FALSE(is_untouched(tensor));
  EXPECT_TRUE(is_untouched(make_unknown({kKiB * kKiB, 16}, {0, 1}, at::kFloat))) << "too large to compute with";
}

TEST(Unknown, AMarkStays) {
  const AtFullSize on(64 * kKiB);
  const at::Tensor known = at::ones({4});
  EXPECT_FALSE(is_unknown(known));
  set_unknown(known);
  EXPECT_TRUE(is_unknown(known));
}

TEST(Unknown, ATensorKeepsItsLayout) {
  const AtFullSize on(64 * kKiB);
  const at::Tensor images = make_unknown({2, 3, 256, 256}, at::kHalf, at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(images.stride(1), 1);
  const at::Tensor turned = make_unknown({256, 512}, {1, 256}, at::kFloat);
  EXPECT_EQ(turned.stride(1), 256);
}

TEST(LazyMemory, BeginsWithZerosAndKeepsWhatIsWritten) {
  const std::size_t bytes = std::size_t{1} << 30;
  const c10::DataPtr memory = lazy_memory().allocate(bytes);
  auto* first = static_cast<unsigned char*>(memory.get());
  EXPECT_EQ(first[bytes - 1], 0);
  first[bytes - 1] = 7;
  EXPECT_EQ(first[bytes - 1], 7);
}

TEST(LazyMemory, MoreThanThereAreAddressesIsAnError) {
  EXPECT_THROW((void)lazy_memory().allocate(std::size_t{1} << 60), std::exception);
}

}  // namespace
}  // namespace devsan::emulate
