// SPDX-License-Identifier: Apache-2.0
// The exported functions by the names that cuGetProcAddress knows them by.
#pragma once

namespace gpusim {

// The exported symbol itself: what was behind `name` in that version of the interface, or, with
// `per_thread`, its twin if it has one. Null: no such name, or `too_old` a version.
void* entry_point(const char* name, int version, bool per_thread, bool* too_old);

}  // namespace gpusim
