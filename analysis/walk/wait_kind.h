// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "abi/events.h"
#include "model/system_call.h"

namespace whystall::walk {

/// What a system call that blocks waits for, as far as its number and arguments tell (x86-64).
bool is_file_read(std::int32_t nr);
/// A file read that also waits for its output, so that it blocks for other reasons than the file.
bool reads_and_sends(std::int32_t nr);
bool is_file_write(std::int32_t nr);
/// A write that waits until what was written before is on the device.
bool is_file_sync(std::int32_t nr);
/// A call on a file's name or on a directory.
bool is_metadata(std::int32_t nr);
bool is_wait_for_child(std::int32_t nr);
/// A call that receives from a socket or a pipe, or waits for that.
bool is_receive(std::int32_t nr);
/// A call that sends to a socket or a pipe.
bool is_send(std::int32_t nr);
bool is_sleep(const wst_wait& wait);
using model::is_poll;
bool is_timed_wait(std::int32_t nr);
/// Whether a wait is for a mutex, so that its waker held it: the kernel's own lock command says so;
/// the value that glibc's lock waits on only suggests it, since any other word may hold it too,
/// unless the owner beside it proves it.
enum class MutexEvidence { kNone, kValue, kCommand, kOwner };
MutexEvidence mutex_evidence(const wst_wait& wait);

/// File systems whose requests wait for a server or a daemon, which the kernel does not always
/// count as I/O.
bool is_served(std::string_view fs_type);

/// Ended by a packet from the network.
bool is_ended_by_packet(const wst_wait& wait);

/// Uninterruptible, which of a task that waits for no I/O means a lock of the kernel.
bool is_uninterruptible(const wst_wait& wait);

}  // namespace whystall::walk
