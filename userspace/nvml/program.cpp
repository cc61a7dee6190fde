// SPDX-License-Identifier: Apache-2.0
#include "nvml/program.h"

// CMake builds this file again when the program changes.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "whystall_nvml_begin: .incbin \"" WHYSTALL_NVML_PROGRAM
    "\"\n"
    "whystall_nvml_end:\n"
    ".globl whystall_nvml_begin, whystall_nvml_end\n"
    ".popsection\n");

extern "C" const std::byte whystall_nvml_begin[], whystall_nvml_end[];

namespace whystall::nvml {

std::span<const std::byte> program() {
  return {whystall_nvml_begin, whystall_nvml_end};
}

}  // namespace whystall::nvml
