#include "memory/settings.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace devsan::memory {
namespace {

std::string refusal(std::string_view text) {
  try {
    (void)Settings::parse(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Settings, DefaultsAreTorchs) {
  const Settings settings = Settings::parse("");
  EXPECT_EQ(settings.max_split_size(), Settings::kUnlimited);
  EXPECT_EQ(settings.max_non_split_rounding_size(), kLargeBuffer);
  EXPECT_EQ(settings.large_segment_size(), kLargeBuffer);
  EXPECT_EQ(settings.roundup_power2_divisions(kMebibyte), 0U);
  EXPECT_EQ(settings.garbage_collection_threshold(), 0.0);
  EXPECT_EQ(settings.per_process_memory_fraction(), 1.0);
  EXPECT_FALSE(settings.expandable_segments());
  EXPECT_EQ(settings.backend(), "native");
  EXPECT_TRUE(settings.notes().empty());
}

TEST(Settings, EveryOptionIsRead) {
  const Settings settings = Settings::parse(
      "max_split_size_mb:128, max_non_split_rounding_mb:30,garbage_collection_threshold:0.8,"
      "expandable_segments:True,per_process_memory_fraction:0.5,backend:native");
  EXPECT_EQ(settings.max_split_size(), 128 * kMebibyte);
  EXPECT_EQ(settings.max_non_split_rounding_size(), 30 * kMebibyte);
  EXPECT_EQ(settings.garbage_collection_threshold(), 0.8);
  EXPECT_TRUE(settings.expandable_segments());
  EXPECT_EQ(settings.per_process_memory_fraction(), 0.5);
  EXPECT_EQ(settings.text().substr(0, 21), "max_split_size_mb:128");
}

TEST(Settings, DivisionsApplyToAllSizesOrByInterval) {
  EXPECT_EQ(Settings::parse("roundup_power2_divisions:4").roundup_power2_divisions(7), 4U);

  const Settings listed = Settings::parse("roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]");
  EXPECT_EQ(listed.roundup_power2_divisions(32 * kMebibyte), 8U) << "the first entry covers what lies below";
  EXPECT_EQ(listed.roundup_power2_divisions(64 * kMebibyte), 8U);
  EXPECT_EQ(listed.roundup_power2_divisions(128 * kMebibyte), 2U);
  EXPECT_EQ(listed.roundup_power2_divisions(256 * kMebibyte), 4U);
  EXPECT_EQ(listed.roundup_power2_divisions(512 * kMebibyte), 2U);
  EXPECT_EQ(listed.roundup_power2_divisions(1024 * kMebibyte), 4U);
  EXPECT_EQ(listed.roundup_power2_divisions(2048 * kMebibyte), 1U);
  EXPECT_EQ(listed.roundup_power2_divisions(std::size_t{1} << 50), 1U);
}

TEST(Settings, RefusalsSpeakTorchsSentences) {
  EXPECT_EQ(refusal("max_split_size:128"), "Unrecognized key 'max_split_size' in CUDA allocator config.");
  EXPECT_EQ(refusal("max_split_size_mb:10"), "CachingAllocator option max_split_size_mb too small, must be >= 20");
  EXPECT_EQ(refusal("large_segment_size_mb:64,max_split_size_mb:40"),
            "CachingAllocator option max_split_size_mb too small, must be >= 64");
  EXPECT_EQ(refusal("max_non_split_rounding_mb:1"),
            "CachingAllocator option max_non_split_rounding_mb too small, must be >= 20");
  EXPECT_EQ(refusal("large_segment_size_mb:1"), "CachingAllocator option large_segment_size_mb must be > 10 MB");
  EXPECT_EQ(refusal("garbage_collection_threshold:1.5"), "garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
  EXPECT_EQ(refusal("garbage_collection_threshold:0"), "garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
  EXPECT_EQ(refusal("roundup_power2_divisions:3"), "For roundups, the divisions has to be power of 2 ");
  EXPECT_EQ(refusal("roundup_power2_divisions:[256:1,512:3]"),
            "For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
  EXPECT_EQ(refusal("roundup_power2_divisions:[200:2]"), "For roundups, the intervals have to be power of 2 ");
  EXPECT_EQ(refusal("expandable_segments:true"),
            "Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'true'");
  EXPECT_EQ(refusal("backend:jemalloc"), "Unknown allocator backend, options are native and cudaMallocAsync");
  EXPECT_EQ(refusal("per_process_memory_fraction:2"), "per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
}

TEST(Settings, RefusalsOfBrokenTextNameTheKey) {
  EXPECT_EQ(refusal("max_split_size_mb"),
            "Expected 'max_split_size_mb:value' in CUDA allocator config, got 'max_split_size_mb'.");
  EXPECT_EQ(refusal("max_split_size_mb:"),
            "Expected 'max_split_size_mb:value' in CUDA allocator config, got 'max_split_size_mb:'.");
  EXPECT_EQ(refusal("max_split_size_mb:abc"),
            "Expected a number for 'max_split_size_mb' in CUDA allocator config, got 'abc'.");
  EXPECT_EQ(refusal("max_split_size_mb=128"), "Unrecognized key 'max_split_size_mb=128' in CUDA allocator config.");
  EXPECT_EQ(refusal("roundup_power2_divisions:[256:1,512"),
            "Expected 'roundup_power2_divisions:value' in CUDA allocator config, got "
            "'roundup_power2_divisions:[256:1,512'.");
}

TEST(Settings, ATrailingCommaIsAccepted) {
  EXPECT_EQ(Settings::parse("max_split_size_mb:128,").max_split_size(), 128 * kMebibyte);
}

TEST(Settings, UpdateResetsOnlyWhatTorchResets) {
  Settings settings = Settings::parse(
      "max_split_size_mb:128,roundup_power2_divisions:4,garbage_collection_threshold:0.5,"
      "expandable_segments:True,max_non_split_rounding_mb:40");
  settings.update("roundup_power2_divisions:8");
  EXPECT_EQ(settings.max_split_size(), Settings::kUnlimited);
  EXPECT_EQ(settings.roundup_power2_divisions(kMebibyte), 8U);
  EXPECT_EQ(settings.garbage_collection_threshold(), 0.0);
  EXPECT_TRUE(settings.expandable_segments());
  EXPECT_EQ(settings.max_non_split_rounding_size(), 40 * kMebibyte);
  EXPECT_EQ(settings.text(), "roundup_power2_divisions:8");
}

TEST(Settings, ARefusedUpdateChangesNothing) {
  Settings settings = Settings::parse("max_split_size_mb:128");
  EXPECT_THROW(settings.update("garbage_collection_threshold:0.5,nonsense:1"), std::invalid_argument);
  EXPECT_EQ(settings.max_split_size(), 128 * kMebibyte);
  EXPECT_EQ(settings.garbage_collection_threshold(), 0.0);
  EXPECT_EQ(settings.text(), "max_split_size_mb:128");
}

TEST(Settings, NotesNameWhatHasNoEffect) {
  const auto notes =
      Settings::parse("backend:cudaMallocAsync,pinned_num_register_threads:8,max_split_size_mb:128").notes();
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0], "backend:cudaMallocAsync is emulated by the native allocator.");
  EXPECT_EQ(notes[1], "pinned_num_register_threads is accepted and has no effect under emulation.");
}

}  // namespace
}  // namespace devsan::memory
