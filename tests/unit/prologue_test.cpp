// SPDX-License-Identifier: Apache-2.0
#include "target/prologue.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <vector>

namespace whystall::target {
namespace {

using Code = std::vector<std::uint8_t>;

Code operator+(Code left, const Code& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::uint64_t offset_in(const Code& code) {
  return probe_offset(std::as_bytes(std::span(code)));
}

const Code kEndbr = {0xf3, 0x0f, 0x1e, 0xfa};
const Code kCmp8 = {0x83, 0x3d, 1, 2, 3, 4, 5};
const Code kCmp32 = {0x81, 0x3d, 0x7e, 0xf8, 0x8e, 0x01, 0x00, 0xba, 0x1c, 0x32};
const Code kJe = {0x74, 0x0c};
const Code kJeFar = {0x0f, 0x84, 1, 2, 3, 4};
const Code kPushRbp = {0x55};
const Code kPushR12 = {0x41, 0x54};
const Code kTest = {0x48, 0x85, 0xff};

TEST(ProbeOffset, IsAtTheBranchBehindTheGuardOfADriverLibrary) {
  EXPECT_EQ(offset_in(kCmp32 + kJe), 10u);
  EXPECT_EQ(offset_in(kCmp32 + kJeFar), 10u);
  EXPECT_EQ(offset_in(kCmp8 + kJe), 7u);
  EXPECT_EQ(offset_in(kCmp8 + kJeFar), 7u);
  EXPECT_EQ(offset_in(kEndbr + kCmp32 + kJe), 14u);
  EXPECT_EQ(offset_in(Code{0x48} + kCmp32 + kJe), 11u) << "64 bits wide";
  EXPECT_EQ(offset_in(Code{0x80, 0x3d, 1, 2, 3, 4, 5} + kJe), 7u) << "8 bits wide";
}

TEST(ProbeOffset, IsAtTheFirstInstructionThatTheKernelEmulates) {
  for (int i = 0; i < 8; i++) {
    const auto push = static_cast<std::uint8_t>(0x50 + i);
    EXPECT_EQ(offset_in(kEndbr + Code{push}), 4u);
    EXPECT_EQ(offset_in(kEndbr + Code{0x41, push}), 4u);
  }
  for (int i = 0; i < 16; i++) {
    EXPECT_EQ(offset_in(kTest + Code{static_cast<std::uint8_t>(0x70 + i), 5}), 3u);
    EXPECT_EQ(offset_in(kTest + Code{0x0f, static_cast<std::uint8_t>(0x80 + i), 1, 2, 3, 4}), 3u);
  }
  EXPECT_EQ(offset_in(kEndbr + Code{0x90}), 4u);
  EXPECT_EQ(offset_in(kEndbr + Code{0xeb, 1}), 4u);
  EXPECT_EQ(offset_in(kEndbr + Code{0xe9, 1, 2, 3, 4}), 4u);
  EXPECT_EQ(offset_in(kEndbr + Code{0xe8, 1, 2, 3, 4}), 4u);
  EXPECT_EQ(offset_in(Code{0x85, 0xff} + kJe), 2u);
  EXPECT_EQ(offset_in(Code{0x45, 0x84, 0xc0} + kJe), 3u);
}

TEST(ProbeOffset, GoesNoFurtherThanTheFirstOfThem) {
  EXPECT_EQ(offset_in(kPushRbp + kEndbr + kPushRbp), 0u) << "the stack pointer has moved";
  EXPECT_EQ(offset_in(kPushR12 + kCmp32 + kJe), 0u);
  EXPECT_EQ(offset_in(kJe + kCmp32 + kJe), 0u) << "not every call comes there";
  EXPECT_EQ(offset_in(kCmp32 + kJe + kPushRbp), 10u);
}

TEST(ProbeOffset, IsTheEntryWhereAnythingElseComesFirst) {
  const Code others[] = {
      {0x48, 0x89, 0xf8},                    // mov %rdi, %rax
      {0x31, 0xff},                          // xor %edi, %edi
      {0x48, 0x83, 0xec, 0x08},              // sub $8, %rsp
      {0x5f},                                // pop %rdi
      {0xc3},                                // ret
      {0xcc},                                // int3
      {0xff, 0x25, 1, 2, 3, 4},              // jmp *X(%rip)
      {0xe3, 0x00},                          // jrcxz
      {0x83, 0x05, 1, 2, 3, 4, 5},           // add imm, X(%rip)
      {0x83, 0x7f, 0x08, 0x05},              // cmp imm, 8(%rdi)
      {0x83, 0x3c, 0x25, 1, 2, 3, 4, 5},     // cmp imm, X
      {0x66, 0x81, 0x3d, 1, 2, 3, 4, 5, 6},  // cmp imm16, X(%rip)
      {0x66, 0x83, 0x3d, 1, 2, 3, 4, 5},     // cmp imm8, X(%rip), 16 bits wide
      {0x67, 0x83, 0x3d, 1, 2, 3, 4, 5},     // cmp imm8, X(%eip)
      {0x64, 0x83, 0x3d, 1, 2, 3, 4, 5},     // cmp imm8, %fs:X(%rip)
      {0xf0, 0x83, 0x3d, 1, 2, 3, 4, 5},     // a lock that faults
      {0x82, 0x3d, 1, 2, 3, 4, 5},           // no instruction in 64-bit code
      {0x48, 0x85, 0x3f},                    // test %rdi, (%rdi)
      {0x48, 0x40, 0x85, 0xff},              // two REX prefixes
      {0xf3, 0x0f, 0x1e, 0xfb},              // endbr32
      {0x66, 0x90},                          // nops that not every kernel probes so
      {0x0f, 0x1f, 0x00},
      {0x0f, 0x1f, 0x44, 0x00, 0x00},
      {0xf3, 0x90},  // pause
      {0x06},        // no instruction in 64-bit code
  };
  for (const Code& other : others) {
    EXPECT_EQ(offset_in(other + kJe), 0u) << int{other[0]} << " " << int{other.back()};
    EXPECT_EQ(offset_in(kEndbr + other + kJe), 0u) << int{other[0]} << " " << int{other.back()};
  }
  // These look like those that are emulated.
  for (const Code& other : {Code{0x48, 0x55}, Code{0x41, 0x90}, Code{0x66, 0x74, 0x00},
                            Code{0x2e, 0x74, 0x00}, Code{0x0f, 0x90, 0xc0}, Code{0x6a, 0x00}}) {
    EXPECT_EQ(offset_in(kCmp32 + other), 0u) << int{other[0]};
  }
}

TEST(ProbeOffset, OfCodeThatIsCutIsTheEntry) {
  for (const Code& code : {kCmp32 + kJe, kCmp32 + kJeFar, kCmp8 + kJeFar, kEndbr + kPushR12,
                           Code{0x48} + kCmp32 + Code{0xe9, 1, 2, 3, 4}, kTest + kCmp8 + kJe}) {
    EXPECT_GT(offset_in(code), 0u);
    for (std::size_t length = 0; length < code.size(); length++) {
      // At its exact size on the heap: a read beyond it is seen by the address sanitizer.
      const Code cut(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_EQ(offset_in(cut), 0u) << length;
    }
  }
}

TEST(ProbeOffset, OfAnyBytesLiesWithinThem) {
  std::mt19937 random(1);
  const Code* pieces[] = {&kEndbr, &kCmp8, &kCmp32, &kTest, &kJe, &kPushR12};
  for (int i = 0; i < 100'000; i++) {
    Code code;
    for (unsigned n = random() % 4; n > 0; n--) code = code + *pieces[random() % std::size(pieces)];
    for (unsigned n = random() % 8; n > 0; n--) code.push_back(static_cast<std::uint8_t>(random()));
    if (!code.empty() && random() % 2) {
      code[random() % code.size()] = static_cast<std::uint8_t>(random());
    }
    const std::uint64_t offset = offset_in(code);
    ASSERT_TRUE(offset == 0 || offset < code.size());
  }
  EXPECT_EQ(offset_in(Code(1'000'000, 0x00)), 0u);
  Code long_way;
  for (int i = 0; i < 16; i++) long_way = long_way + kEndbr;
  EXPECT_EQ(offset_in(long_way), 0u);
  EXPECT_EQ(offset_in(long_way + kJe), long_way.size());
}

}  // namespace
}  // namespace whystall::target
