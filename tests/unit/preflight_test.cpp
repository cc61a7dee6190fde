// SPDX-License-Identifier: Apache-2.0
#include "capture/preflight.h"

#include <gtest/gtest.h>

#include <tuple>

namespace whystall::capture {
namespace {

TEST(ParseKernelVersion, TakesTheFirstTwoNumbers) {
  const std::tuple<const char*, int, int> cases[] = {
      {"6.18.44-amd64", 6, 18},
      {"6.1.0-28-cloud-amd64", 6, 1},
      {"5.15", 5, 15},
      {"6.8.0-rc1+", 6, 8},
      {"6.12-rc3", 6, 12},
      {"10.0.1", 10, 0},
      {"5.14.0-427.13.1.el9_4.x86_64", 5, 14},
      {"", 0, 0},
      {"6", 0, 0},
      {"6.", 0, 0},
      {"six.one", 0, 0},
      {".6.1", 0, 0},
      {"linux-6.1", 0, 0},
  };
  for (const auto& [release, major, minor] : cases) {
    const KernelVersion got = parse_kernel_version(release);
    EXPECT_EQ(got.major, major) << release;
    EXPECT_EQ(got.minor, minor) << release;
  }
}

}  // namespace
}  // namespace whystall::capture
