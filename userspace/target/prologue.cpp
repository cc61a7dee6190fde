// SPDX-License-Identifier: Apache-2.0
#include "target/prologue.h"

namespace whystall::target {

namespace {

/// The byte at `at`, or one that is in no encoding below (0x06 is no instruction in 64-bit code).
std::uint8_t byte(std::span<const std::byte> code, std::size_t at) {
  return at < code.size() ? static_cast<std::uint8_t>(code[at]) : 0x06;
}

/// Bytes of the instruction if the kernel emulates it, else 0. Kernels from 6.1 on emulate these;
/// of the longer nops, which later ones emulate too, earlier ones single-step most and refuse
/// 66 90.
std::size_t emulated(std::span<const std::byte> code) {
  const std::uint8_t first = byte(code, 0);
  const std::uint8_t second = byte(code, 1);
  if ((first & 0xf8) == 0x50) return 1;                    // push, of rax to rdi
  if (first == 0x41 && (second & 0xf8) == 0x50) return 2;  // push, of r8 to r15
  if (first == 0x90) return 1;                             // nop
  if ((first & 0xf0) == 0x70 || first == 0xeb) return 2;   // jcc, jmp; rel8
  if (first == 0x0f && (second & 0xf0) == 0x80) return 6;  // jcc rel32
  if (first == 0xe8 || first == 0xe9) return 5;            // call, jmp; rel32
  return 0;
}

/// Bytes of the instruction if it changes nothing but flags and goes on to the next, else 0.
std::size_t harmless(std::span<const std::byte> code) {
  if (byte(code, 0) == 0xf3 && byte(code, 1) == 0x0f && byte(code, 2) == 0x1e &&
      byte(code, 3) == 0xfa) {
    return 4;  // endbr64
  }
  // A REX prefix widens the operands of these or names other registers, no more.
  const std::size_t rex = (byte(code, 0) & 0xf0) == 0x40 ? 1 : 0;
  const std::uint8_t opcode = byte(code, rex);
  const std::uint8_t operands = byte(code, rex + 1);
  if (operands == 0x3d) {
    if (opcode == 0x80 || opcode == 0x83) return rex + 7;  // cmp imm8, disp32(%rip)
    if (opcode == 0x81) return rex + 10;                   // cmp imm32, disp32(%rip)
  }
  // test of two registers
  if ((opcode == 0x84 || opcode == 0x85) && operands >= 0xc0) return rex + 2;
  return 0;
}

}  // namespace

std::uint64_t probe_offset(std::span<const std::byte> code) {
  std::size_t at = 0;
  while (at < code.size()) {
    const auto rest = code.subspan(at);
    if (const std::size_t bytes = emulated(rest)) return bytes <= rest.size() ? at : 0;
    const std::size_t bytes = harmless(rest);
    if (bytes == 0 || bytes > rest.size()) return 0;
    at += bytes;
  }
  return 0;
}

}  // namespace whystall::target
