// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "abi/events.h"

namespace whystall::walk {

/// What a system call that blocks waits for, as far as its number and arguments tell (x86-64).
bool is_file_read(std::int32_t nr);
/// A file read that also waits for its output, so that it blocks for other reasons than the file.
bool reads_and_sends(std::int32_t nr);
bool is_sleep(const wst_wait& wait);
/// A wait for any of several files.
bool is_poll(std::int32_t nr);
bool is_timed_wait(std::int32_t nr);
/// Whether a wait is for a mutex, so that its waker held it: the kernel's own lock command says so;
/// the value that glibc's lock waits on only suggests it, since any other word may hold it too,
/// unless the owner beside it proves it.
enum class MutexEvidence { kNone, kValue, kCommand, kOwner };
MutexEvidence mutex_evidence(const wst_wait& wait);

}  // namespace whystall::walk
