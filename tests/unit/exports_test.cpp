// SPDX-License-Identifier: Apache-2.0
#include "target/exports.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "support/recording_file.h"

namespace whystall::target {
namespace {

using testing::Bytes;
using testing::TempDir;

const Export* find(const std::vector<Export>& exports, const std::string& name) {
  const auto it =
      std::find_if(exports.begin(), exports.end(), [&](const Export& e) { return e.name == name; });
  return it == exports.end() ? nullptr : &*it;
}

/// The C library that this test runs with.
std::string libc_path() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&::getpid), &info) && info.dli_fname ? info.dli_fname : "";
}

TEST(ExportedFunctions, OfTheCLibraryAreWhereItsCodeIs) {
  const std::string path = libc_path();
  const auto exports = exported_functions(path);
  ASSERT_TRUE(exports.ok()) << exports.error().text;
  const Export* found = find(exports.value(), "getpid");
  ASSERT_TRUE(found);
  // The code in the file is the code in memory.
  const Bytes file = testing::read_bytes(path);
  ASSERT_LT(found->file_offset + 8, file.size());
  void* code = dlsym(RTLD_DEFAULT, "getpid");
  EXPECT_EQ(std::memcmp(file.data() + found->file_offset, code, 8), 0);
}

TEST(ExportedFunctions, AreFunctionsOnlyAndOnlyTheExportedOnes) {
  const auto exports = exported_functions(WHYSTALL_TINY_LIBRARY);
  ASSERT_TRUE(exports.ok()) << exports.error().text;
  EXPECT_TRUE(find(exports.value(), "tiny_exported"));
  EXPECT_TRUE(find(exports.value(), "tiny_exported_too"));
  EXPECT_FALSE(find(exports.value(), "tiny_variable")) << "no function";
  EXPECT_FALSE(find(exports.value(), "hidden"));
  EXPECT_FALSE(find(exports.value(), "__cxa_finalize")) << "imported";
}

TEST(ExportedFunctions, AreProbedWithinThem) {
  const auto exports = exported_functions(libc_path());
  ASSERT_TRUE(exports.ok()) << exports.error().text;
  for (const Export& e : exports.value()) {
    EXPECT_GE(e.probe_offset, e.file_offset) << e.name;
    EXPECT_LT(e.probe_offset, e.file_offset + 64) << e.name;
  }
}

#ifdef WHYSTALL_DRIVER_LIBRARY
TEST(ExportedFunctions, OfADriverLibraryAreProbedBehindTheirGuard) {
  const Bytes file = testing::read_bytes(WHYSTALL_DRIVER_LIBRARY);
  const auto exports = exported_functions(WHYSTALL_DRIVER_LIBRARY);
  ASSERT_TRUE(exports.ok()) << exports.error().text;
  std::size_t api = 0;
  for (const Export& e : exports.value()) {
    if (!e.name.starts_with("cu")) continue;
    api++;
    EXPECT_EQ(e.probe_offset, e.file_offset + 10) << e.name;
    ASSERT_LT(e.probe_offset, file.size());
    EXPECT_EQ(file[e.probe_offset], 0x74) << e.name;
  }
  EXPECT_GT(api, 20u);
}
#endif

TEST(ExportedFunctions, OfWhatIsNoLibraryAreAnErrorThatNamesTheFile) {
  const TempDir dir;
  const std::string text = dir.file("text");
  testing::write_bytes(text, Bytes(1000, 'a'));
  testing::write_bytes(dir.file("empty"), {});
  for (const std::string& path : {text, dir.file("empty"), dir.file("missing"), dir.file("")}) {
    const auto exports = exported_functions(path);
    ASSERT_FALSE(exports.ok()) << path;
    EXPECT_EQ(exports.error().code, ErrorCode::kCannotTrace);
    EXPECT_NE(exports.error().text.find(path), std::string::npos) << exports.error().text;
  }
}

class DamagedLibrary : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_FALSE(whole_.empty()); }
  /// Whatever it finds has names and lies in code; whatever it refuses, it refuses in words.
  void read(const Bytes& bytes) {
    testing::write_bytes(path_, bytes);
    const auto exports = exported_functions(path_);
    if (exports.ok()) {
      EXPECT_FALSE(exports.value().empty());
      for (const Export& e : exports.value()) EXPECT_LT(e.probe_offset - e.file_offset, 64u);
    } else {
      EXPECT_EQ(exports.error().code, ErrorCode::kCannotTrace);
      EXPECT_FALSE(exports.error().text.empty());
    }
  }

  const Bytes whole_ = testing::read_bytes(WHYSTALL_TINY_LIBRARY);
  TempDir dir_;
  const std::string path_ = dir_.file("damaged.so");
};

TEST_F(DamagedLibrary, WithFlippedBytesIsReadOrRefused) {
  for (std::size_t at = 0; at < whole_.size(); at += at < 4096 ? 1 : 64) {
    Bytes bytes = whole_;
    bytes[at] = static_cast<char>(~bytes[at]);
    read(bytes);
  }
}

TEST_F(DamagedLibrary, WithEverySixtyFourthByteFlippedIsReadOrRefused) {
  for (std::size_t phase = 0; phase < 64; phase++) {
    Bytes bytes = whole_;
    for (std::size_t at = phase; at < bytes.size(); at += 64)
      bytes[at] = static_cast<char>(~bytes[at]);
    read(bytes);
  }
}

TEST_F(DamagedLibrary, WithASectionHeaderOfAnythingIsReadOrRefused) {
  ElfW(Ehdr) header;
  std::memcpy(&header, whole_.data(), sizeof header);
  const std::size_t end =
      std::min<std::size_t>(whole_.size(), header.e_shoff + sizeof(ElfW(Shdr)) * header.e_shnum);
  for (std::size_t at = header.e_shoff; at + 8 <= end; at += 4) {
    for (const int value : {0x00, 0x01, 0x7f, 0xff}) {
      Bytes bytes = whole_;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 8, static_cast<char>(value));
      read(bytes);
    }
  }
}

TEST_F(DamagedLibrary, CutAtAnyLengthIsReadOrRefused) {
  for (std::size_t length = 0; length < whole_.size(); length += length < 1024 ? 1 : 61) {
    read(Bytes(whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(length)));
  }
}

}  // namespace
}  // namespace whystall::target
