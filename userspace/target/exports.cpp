// SPDX-License-Identifier: Apache-2.0
#include "target/exports.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "base/fd.h"
#include "target/prologue.h"

namespace whystall::target {

namespace {

struct Segment {
  std::uint64_t address, offset, bytes;
};

/// Code in the file, and how much of it there is up to the end of its segment.
struct Code {
  std::uint64_t offset, bytes;
};

std::vector<Segment> code_segments(Elf* elf) {
  std::vector<Segment> segments;
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return segments;
  for (std::size_t i = 0; i < count; i++) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) && header.p_type == PT_LOAD &&
        (header.p_flags & PF_X)) {
      segments.push_back({header.p_vaddr, header.p_offset, header.p_filesz});
    }
  }
  return segments;
}

std::optional<Code> code_at(const std::vector<Segment>& segments, std::uint64_t address) {
  for (const Segment& s : segments) {
    const std::uint64_t from_start = address - s.address;
    if (address >= s.address && from_start < s.bytes)
      return Code{from_start + s.offset, s.bytes - from_start};
  }
  return std::nullopt;
}

/// Where in the file to probe the function that `code` begins with.
std::uint64_t probe_place(int fd, const Code& code, const GElf_Sym& symbol) {
  std::array<std::byte, 64> buffer;
  std::uint64_t wanted = std::min<std::uint64_t>(buffer.size(), code.bytes);
  // 0 is an unknown size. What lies after the function is not reached from its entry.
  if (symbol.st_size) wanted = std::min<std::uint64_t>(wanted, symbol.st_size);
  // A file cut short gives less, an offset that no file has gives none: probed at the entry.
  const ssize_t got = ::pread(fd, buffer.data(), wanted, static_cast<off_t>(code.offset));
  const std::size_t bytes = got > 0 ? static_cast<std::size_t>(got) : 0;
  return code.offset + probe_offset(std::span(buffer).first(bytes));
}

}  // namespace

Result<std::vector<Export>> exported_functions(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return Error{ErrorCode::kCannotTrace,
                 "cannot open the driver library " + path + ": " + std::strerror(errno)};
  }
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd.get(), ELF_C_READ, nullptr), elf_end);
  GElf_Ehdr file;
  const bool x86_64 = elf && gelf_getehdr(elf.get(), &file) && file.e_machine == EM_X86_64;
  const auto segments = elf ? code_segments(elf.get()) : std::vector<Segment>{};
  std::vector<Export> found;
  Elf_Scn* section = nullptr;
  while (elf && (section = elf_nextscn(elf.get(), section))) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    const std::size_t count = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;
    for (std::size_t i = 0; i < count; i++) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, static_cast<int>(i), &symbol) ||
          GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) {
        continue;
      }
      const char* name = elf_strptr(elf.get(), header.sh_link, symbol.st_name);
      const auto code = code_at(segments, symbol.st_value);
      if (!name || !code) continue;
      found.push_back(
          {name, code->offset, x86_64 ? probe_place(fd.get(), *code, symbol) : code->offset});
    }
  }
  if (found.empty()) {
    return Error{ErrorCode::kCannotTrace, path + " exports no function: not a driver library"};
  }
  return found;
}

}  // namespace whystall::target
