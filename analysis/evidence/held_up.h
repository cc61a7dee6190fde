// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

#include "model/recording.h"

namespace whystall::evidence {

/// Submits that did not return for a while, by their place in Recording::api, and when their thread
/// was last seen spinning in the driver. Launches are probed at their entry alone: that one has not
/// returned is told by samples of the thread in the driver's code, outside of any system call, with
/// no later call. One such sample may be the loading of a kernel; several of a thread in close
/// succession are launches that wait for room.
std::map<std::size_t, model::TimeNs> held_up_submits(const model::Recording& recording);

}  // namespace whystall::evidence
