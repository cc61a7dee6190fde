// SPDX-License-Identifier: Apache-2.0
#include "target/exports.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/fd.h"

namespace whystall::target {

namespace {

struct Segment {
  std::uint64_t address, offset, bytes;
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

std::optional<std::uint64_t> file_offset(const std::vector<Segment>& segments,
                                         std::uint64_t address) {
  for (const Segment& s : segments) {
    if (address >= s.address && address - s.address < s.bytes)
      return address - s.address + s.offset;
  }
  return std::nullopt;
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
      const auto offset = file_offset(segments, symbol.st_value);
      if (name && offset) found.push_back({name, *offset});
    }
  }
  if (found.empty()) {
    return Error{ErrorCode::kCannotTrace, path + " exports no function: not a driver library"};
  }
  return found;
}

}  // namespace whystall::target
