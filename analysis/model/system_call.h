// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/syscalls.h"

namespace whystall::model {

/// A wait for any of several files.
constexpr bool is_poll(std::int32_t nr) {
  return nr == WST_NR_POLL || nr == WST_NR_PPOLL || nr == WST_NR_SELECT || nr == WST_NR_PSELECT6 ||
         nr == WST_NR_EPOLL_WAIT || nr == WST_NR_EPOLL_PWAIT || nr == WST_NR_EPOLL_PWAIT2;
}

}  // namespace whystall::model
