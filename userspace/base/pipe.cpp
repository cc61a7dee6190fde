// SPDX-License-Identifier: Apache-2.0
#include "base/pipe.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace whystall {

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::kCannotTrace,
                 std::string("cannot make a pipe: ") + std::strerror(errno)};
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace whystall
