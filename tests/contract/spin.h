// SPDX-License-Identifier: Apache-2.0
// The one kernel.
#pragma once

/// Any driver compiles it for its device. It ends when the device's own clock says so, so it lasts
/// as long on any device.
static const char kSpinPtx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    "\n"
    ".visible .entry spin_ns(.param .u64 ns)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd1, [ns];\n"
    "  mov.u64 %rd2, %globaltimer;\n"
    "again:\n"
    "  mov.u64 %rd3, %globaltimer;\n"
    "  sub.u64 %rd4, %rd3, %rd2;\n"
    "  setp.lt.u64 %p1, %rd4, %rd1;\n"
    "  @%p1 bra again;\n"
    "  ret;\n"
    "}\n";
