// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/events.h"

namespace whystall::walk {

/// What a system call that blocks waits for, as far as its number and arguments tell (x86-64).
bool is_file_read(std::int32_t nr);
bool is_sleep(const wst_wait& wait);
bool is_timed_wait(std::int32_t nr);
/// A wait for a mutex, as glibc and the kernel's priority-inheriting futex make it: its waker held
/// it.
bool is_mutex_wait(const wst_wait& wait);

}  // namespace whystall::walk
