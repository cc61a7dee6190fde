// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace loop {

// Says one sentence and ends the process. The program is a measuring stick: a step that went wrong
// must not be carried on from.
[[noreturn, gnu::format(printf, 1, 2)]] inline void die(const char* format, ...) {
  std::va_list args;
  va_start(args, format);
  std::fputs("loop: ", stderr);
  std::vfprintf(stderr, format, args);
  std::fputc('\n', stderr);
  va_end(args);
  std::exit(1);
}

}  // namespace loop
