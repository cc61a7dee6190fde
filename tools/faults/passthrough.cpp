// SPDX-License-Identifier: Apache-2.0
#include "passthrough.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

namespace faults {

int backing_fd = -1;

namespace {

int result(int rc) {
  return rc < 0 ? -errno : 0;
}
int file_of(const fuse_file_info* info) {
  return static_cast<int>(info->fh);
}

int read_link(const char* path, char* out, size_t size) {
  const ssize_t n = readlinkat(backing_fd, relative(path), out, size - 1);
  if (n < 0) return -errno;
  out[n] = '\0';
  return 0;
}

int read_dir(const char* path, void* out, fuse_fill_dir_t fill, off_t, fuse_file_info*,
             fuse_readdir_flags) {
  const int fd = openat(backing_fd, relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -errno;
  DIR* dir = fdopendir(fd);
  if (dir == nullptr) {
    const int error = errno;
    close(fd);
    return -error;
  }
  while (const dirent* e = readdir(dir)) {
    if (fill(out, e->d_name, nullptr, 0, fuse_fill_dir_flags{}) != 0) break;
  }
  closedir(dir);
  return 0;
}

int make_dir(const char* path, mode_t mode) {
  return result(mkdirat(backing_fd, relative(path), mode));
}
int remove_file(const char* path) {
  return result(unlinkat(backing_fd, relative(path), 0));
}
int remove_dir(const char* path) {
  return result(unlinkat(backing_fd, relative(path), AT_REMOVEDIR));
}
int make_link(const char* target, const char* path) {
  return result(symlinkat(target, backing_fd, relative(path)));
}
int rename_file(const char* from, const char* to, unsigned flags) {
  return result(renameat2(backing_fd, relative(from), backing_fd, relative(to), flags));
}
int change_mode(const char* path, mode_t mode, fuse_file_info*) {
  return result(fchmodat(backing_fd, relative(path), mode, 0));
}
int change_owner(const char* path, uid_t uid, gid_t gid, fuse_file_info*) {
  return result(fchownat(backing_fd, relative(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}
int change_times(const char* path, const timespec* times, fuse_file_info*) {
  return result(utimensat(backing_fd, relative(path), times, AT_SYMLINK_NOFOLLOW));
}
int stat_fs(const char*, struct statvfs* out) {
  return result(fstatvfs(backing_fd, out));
}

int release(const char*, fuse_file_info* info) {
  if (file_of(info) >= 0) close(file_of(info));
  return 0;
}

}  // namespace

fuse_operations passthrough_operations() {
  fuse_operations ops{};
  ops.readlink = read_link;
  ops.readdir = read_dir;
  ops.mkdir = make_dir;
  ops.unlink = remove_file;
  ops.rmdir = remove_dir;
  ops.symlink = make_link;
  ops.rename = rename_file;
  ops.chmod = change_mode;
  ops.chown = change_owner;
  ops.utimens = change_times;
  ops.statfs = stat_fs;
  ops.release = release;
  return ops;
}

}  // namespace faults
