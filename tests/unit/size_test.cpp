// SPDX-License-Identifier: Apache-2.0
#include "base/size.h"

#include <gtest/gtest.h>

#include <utility>

namespace whystall {
namespace {

TEST(ParseSize, ReadsUnits) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"4096", 4096},     {"100B", 100},        {"2K", 2048},       {"512KiB", 1 << 19},
      {"64M", 64u << 20}, {"1.5MiB", 3u << 19}, {"2G", 2ull << 30}, {"1GiB", 1u << 30},
  };
  for (const auto& [text, want] : cases) {
    const auto got = parse_size(text);
    ASSERT_TRUE(got.ok()) << text;
    EXPECT_EQ(got.value(), want) << text;
  }
}

TEST(ParseSize, RefusesWhatIsNoSizeInOneSentenceWithExamples) {
  for (const char* text : {"", "M", "big", "-1M", "+1M", " 1M", "1 M", "1M ", "1MB", "1m", "1kib",
                           "0", "0.5B", "nan", "inf", "1e300G", "0x10", "1M1M"}) {
    const auto got = parse_size(text);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.error().code, ErrorCode::kUsage) << text;
    EXPECT_EQ(got.error().text,
              "'" + std::string(text) + "' is not a size (examples: 512KiB, 64MiB, 2G)");
  }
}

}  // namespace
}  // namespace whystall
