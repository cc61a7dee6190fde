// SPDX-License-Identifier: Apache-2.0
// GPUSIM_EXPORT(cuX) publishes sim_cuX under its public name, behind the entry that nearly every
// export of the real library has: `cmpl imm,X(%rip); je`. A probe of the `je`, ten bytes in, finds
// the arguments untouched and costs a tenth of one on the first instruction, which the kernel has
// to single-step; probing code must find the same here.
#pragma once

#include <type_traits>

#if !defined(__x86_64__)
#error "the simulated driver's entries are written for x86-64"
#endif

#define GPUSIM_EXPORT(name)                                                   \
  static_assert(std::is_same_v<decltype(name), decltype(sim_##name)>, #name); \
  __asm__(                                                                    \
      ".pushsection .text\n"                                                  \
      ".p2align 4\n"                                                          \
      ".globl " #name                                                         \
      "\n"                                                                    \
      ".type " #name ", @function\n" #name                                    \
      ":\n"                                                                   \
      "  cmpl $0x321cba00, gpusim_entry_guard(%rip)\n"                        \
      "  je 1f\n"                                                             \
      "1: jmp sim_" #name                                                     \
      "\n"                                                                    \
      ".size " #name ", . - " #name                                           \
      "\n"                                                                    \
      ".popsection\n")
