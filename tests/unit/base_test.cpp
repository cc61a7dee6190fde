// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "base/fd.h"
#include "base/time.h"

namespace whystall {
namespace {

TEST(ParseDuration, ReadsUnits) {
  const std::pair<const char*, DurationNs> cases[] = {
      {"1ns", 1},
      {"250us", 250 * kMicrosecond},
      {"500ms", 500 * kMillisecond},
      {"10s", 10 * kSecond},
      {"7", 7 * kSecond},
      {"0.25", 250 * kMillisecond},
      {"1.5m", 90 * kSecond},
      {"3min", 180 * kSecond},
      {"2h", 7200 * kSecond},
      {"1e3ms", kSecond},
      {"0.001us", 1},
  };
  for (const auto& [text, want] : cases) {
    const auto got = parse_duration(text);
    ASSERT_TRUE(got.ok()) << text;
    EXPECT_EQ(got.value(), want) << text;
  }
}

TEST(ParseDuration, RefusesWhatIsNoDurationInOneSentenceWithExamples) {
  for (const char* text :
       {"",  "s",  "ms",  "ten", "-1s",      "+1s",  " 1s",  "1 s",   "1s ",  "1x", "1sec", "1S",
        "0", "0s", "nan", "inf", "infinity", "1,5s", "0x10", "0.5ns", "1s1s", "--", "1e"}) {
    const auto got = parse_duration(text);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.error().code, ErrorCode::kUsage) << text;
    EXPECT_EQ(got.error().text,
              "'" + std::string(text) + "' is not a duration (examples: 500ms, 10s, 2m)");
  }
}

TEST(ParseDuration, RefusesWhatDoesNotFitNanoseconds) {
  for (const char* text :
       {"1e300", "1e18s", "9223372036854775808ns", "1e400", "300000h", "1e9999h"}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
  const auto longest = parse_duration("1e9s");
  ASSERT_TRUE(longest.ok());
  EXPECT_EQ(longest.value(), 1'000'000'000 * kSecond);
}

TEST(FormatWallTime, IsRfc3339InUtcWithMilliseconds) {
  EXPECT_EQ(format_wall_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_wall_time(1'700'000'000'007'999'999), "2023-11-14T22:13:20.007Z");
  EXPECT_EQ(format_wall_time(951'782'399'999'000'000), "2000-02-28T23:59:59.999Z");
  EXPECT_EQ(format_wall_time(std::numeric_limits<TimeNs>::max()), "2262-04-11T23:47:16.854Z");
}

TEST(FormatWallTime, RoundsTimesBefore1970Down) {
  EXPECT_EQ(format_wall_time(-kMillisecond), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_wall_time(-kSecond), "1969-12-31T23:59:59.000Z");
}

TEST(MonotonicNow, NeverGoesBack) {
  const TimeNs first = monotonic_now();
  EXPECT_GT(first, 0);
  EXPECT_GE(monotonic_now(), first);
}

TEST(Fd, ClosesOnceAndMovesOwnership) {
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(raw, 0);
  {
    Fd first(raw);
    Fd second(std::move(first));
    EXPECT_FALSE(first.valid());
    EXPECT_EQ(second.get(), raw);
    EXPECT_GE(::fcntl(raw, F_GETFD), 0);
  }
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

}  // namespace
}  // namespace whystall
