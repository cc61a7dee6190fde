// SPDX-License-Identifier: Apache-2.0
// The kernel types that the programs declare, against the types of the kernel that this runs on.
// CO-RE finds a field by its name wherever it lies; that the name exists, and has the size that the
// programs read, is left.
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace {

constexpr const char* kKernelTypes = "/sys/kernel/btf/vmlinux";

struct FreeBtf {
  void operator()(btf* types) const { btf__free(types); }
};
using Btf = std::unique_ptr<btf, FreeBtf>;

Btf open_types(const char* path) {
  btf* types = btf__parse(path, nullptr);
  return Btf(libbpf_get_error(types) ? nullptr : types);
}

std::string_view name_of(const btf* types, const btf_type* type) {
  const char* name = btf__name_by_offset(types, type->name_off);
  return name ? name : "";
}

const btf_type* resolve(const btf* types, __u32 id) {
  const int resolved = btf__resolve_type(types, id);
  return resolved < 0 ? nullptr : btf__type_by_id(types, static_cast<__u32>(resolved));
}

struct Field {
  __u32 type_id;
  __u32 bits;  // 0: no bit field
};

/// Also inside unnamed structs and unions, whose members belong to the outer type.
std::optional<Field> find_field(const btf* types, const btf_type* type, std::string_view name) {
  const btf_member* members = btf_members(type);
  for (__u32 i = 0; i < btf_vlen(type); i++) {
    const char* member = btf__name_by_offset(types, members[i].name_off);
    if (member && name == member) return Field{members[i].type, btf_member_bitfield_size(type, i)};
    if (member && *member) continue;
    const btf_type* inner = resolve(types, members[i].type);
    if (!inner || !btf_is_composite(inner)) continue;
    if (auto found = find_field(types, inner, name)) return found;
  }
  return std::nullopt;
}

bool is_scalar(const btf_type* type) {
  return type && (btf_is_int(type) || btf_is_ptr(type) || btf_is_any_enum(type));
}

/// What a field of the programs and the kernel's differ in; empty: nothing.
std::string difference(const btf* ours, const Field& our, const btf* kernels, const Field& theirs) {
  if ((our.bits != 0) != (theirs.bits != 0)) return "a bit field on one side only";
  const btf_type* a = resolve(ours, our.type_id);
  const btf_type* b = resolve(kernels, theirs.type_id);
  if (!a || !b) return "a type that does not resolve";
  if (is_scalar(a) != is_scalar(b)) return "a number or pointer on one side only";
  if (btf_is_composite(a)) return btf_is_composite(b) ? "" : "a struct on one side only";
  const auto bytes = btf__resolve_size(ours, our.type_id),
             wanted = btf__resolve_size(kernels, theirs.type_id);
  if (bytes == wanted) return "";
  return std::to_string(bytes) + " bytes, the kernel has " + std::to_string(wanted);
}

/// "sched_entity___delayed" is a shape of "sched_entity" that only some kernels have.
std::string_view without_flavour(std::string_view name) {
  return name.substr(0, name.find("___"));
}

class KernelTypes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(kKernelTypes, R_OK) != 0) GTEST_SKIP() << "this kernel has no " << kKernelTypes;
    kernel_ = open_types(kKernelTypes);
    ours_ = open_types(WHYSTALL_BPF_OBJECT);
    ASSERT_TRUE(kernel_) << kKernelTypes;
    ASSERT_TRUE(ours_) << WHYSTALL_BPF_OBJECT;
  }

  /// Several unlike types of the kernel may share a name: the fields must be in one of them.
  std::string compare(const btf_type* ours, std::string_view kernel_name, bool optional) const {
    std::string first_problems;
    for (__u32 id = 1; id < btf__type_cnt(kernel_.get()); id++) {
      const btf_type* theirs = btf__type_by_id(kernel_.get(), id);
      if (!btf_is_struct(theirs) || name_of(kernel_.get(), theirs) != kernel_name) continue;
      const std::string problems = compare_fields(ours, theirs, optional);
      if (problems.empty()) return "";
      if (first_problems.empty()) first_problems = problems;
    }
    return first_problems;
  }

  std::string compare_fields(const btf_type* ours, const btf_type* theirs, bool optional) const {
    std::string problems;
    const btf_member* members = btf_members(ours);
    for (__u32 i = 0; i < btf_vlen(ours); i++) {
      const std::string name = btf__name_by_offset(ours_.get(), members[i].name_off);
      const Field field{members[i].type, btf_member_bitfield_size(ours, i)};
      const auto found = find_field(kernel_.get(), theirs, name);
      if (!found) {
        if (optional)
          std::cout << "  not on this kernel: " << name_of(ours_.get(), ours) << "." << name
                    << "\n";
        else
          problems += name + ": no such field\n";
        continue;
      }
      const std::string text = difference(ours_.get(), field, kernel_.get(), *found);
      if (!text.empty()) problems += name + ": " + text + "\n";
    }
    return problems;
  }

  Btf kernel_, ours_;
};

TEST_F(KernelTypes, HaveTheFieldsAndSizesThatTheProgramsRead) {
  std::set<std::string> compared;
  for (__u32 id = 1; id < btf__type_cnt(ours_.get()); id++) {
    const btf_type* type = btf__type_by_id(ours_.get(), id);
    const std::string name(name_of(ours_.get(), type));
    const std::string kernel_name(without_flavour(name));
    if (!btf_is_struct(type) || name.empty()) continue;
    if (btf__find_by_name_kind(kernel_.get(), kernel_name.c_str(), BTF_KIND_STRUCT) < 0) continue;
    EXPECT_EQ(compare(type, kernel_name, kernel_name != name), "") << "struct " << name;
    compared.insert(name);
  }
  for (const char* name : {"task_struct", "file", "inode", "mount", "pt_regs"}) {
    EXPECT_TRUE(compared.contains(name)) << name << " was not compared";
  }
}

TEST_F(KernelTypes, ExistUnderTheNamesThatTheHeaderGivesThem) {
  std::ifstream in(WHYSTALL_KERNEL_TYPES);
  ASSERT_TRUE(in) << WHYSTALL_KERNEL_TYPES;
  std::string line;
  std::size_t declared = 0;
  while (std::getline(in, line)) {
    if (!line.starts_with("struct ") || !line.ends_with(" {")) continue;
    const std::string name(without_flavour(std::string_view(line).substr(7, line.size() - 9)));
    EXPECT_GT(btf__find_by_name_kind(kernel_.get(), name.c_str(), BTF_KIND_STRUCT), 0)
        << "struct " << name;
    declared++;
  }
  EXPECT_GE(declared, 10u);
}

TEST_F(KernelTypes, AFieldThatTheKernelLacksIsNoticed) {
  const btf_type* task = btf__type_by_id(
      kernel_.get(),
      static_cast<__u32>(btf__find_by_name_kind(kernel_.get(), "task_struct", BTF_KIND_STRUCT)));
  ASSERT_TRUE(task);
  EXPECT_TRUE(find_field(kernel_.get(), task, "pid"));
  EXPECT_FALSE(find_field(kernel_.get(), task, "no_such_field"));
}

}  // namespace
