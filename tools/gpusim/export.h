// SPDX-License-Identifier: Apache-2.0
// GPUSIM_EXPORT(cuX) publishes sim_cuX under its public name, behind the entry that nearly every
// export of the real library has: `cmpl imm,X(%rip); je`. A probe of the `je`, ten bytes in, finds
// the arguments untouched and costs a tenth of one on the first instruction, which the kernel has
// to single-step; probing code must find the same here.
//
// GPUSIM_EXPORT_TWIN(cuX, _ptsz) publishes cuX_ptsz, a symbol at an address of its own: sim_cuX
// with the thread's own default stream.
#pragma once

#include <type_traits>

#include "cuda_abi.h"
#include "driver.h"

#if !defined(__x86_64__)
#error "the simulated driver's entries are written for x86-64"
#endif

namespace gpusim {

template <auto kFunction>
struct PerThreadTwin;

template <typename... Arguments, CUresult (*kFunction)(Arguments...)>
struct PerThreadTwin<kFunction> {
  static CUresult call(Arguments... arguments) {
    Driver::set_per_thread_default(true);
    const CUresult result = kFunction(arguments...);
    Driver::set_per_thread_default(false);
    return result;
  }
};

}  // namespace gpusim

#define GPUSIM_ENTRY(name, target)                     \
  __asm__(                                             \
      ".pushsection .text\n"                           \
      ".p2align 4\n"                                   \
      ".globl " name                                   \
      "\n"                                             \
      ".type " name ", @function\n" name               \
      ":\n"                                            \
      "  cmpl $0x321cba00, gpusim_entry_guard(%rip)\n" \
      "  je 1f\n"                                      \
      "1: jmp " target                                 \
      "\n"                                             \
      ".size " name ", . - " name                      \
      "\n"                                             \
      ".popsection\n")

#define GPUSIM_EXPORT(name)                                                   \
  static_assert(std::is_same_v<decltype(name), decltype(sim_##name)>, #name); \
  GPUSIM_ENTRY(#name, "sim_" #name)

#define GPUSIM_EXPORT_TWIN(name, suffix)                                              \
  GPUSIM_EXPORT(name);                                                                \
  extern "C" {                                                                        \
  __attribute__((visibility("hidden"))) extern decltype(&name) gpusim_##name##suffix; \
  decltype(&name) gpusim_##name##suffix = &gpusim::PerThreadTwin<&sim_##name>::call;  \
  }                                                                                   \
  GPUSIM_ENTRY(#name #suffix, "*gpusim_" #name #suffix "(%rip)")
