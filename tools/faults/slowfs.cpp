// SPDX-License-Identifier: Apache-2.0
//
// slowfs BACKING MOUNT --read-delay 5ms [--delay-under SUBDIR=20ms]... [--direct-io] [--log FILE]
//
// A FUSE file system that passes BACKING through and makes each read request last at least the set
// time; by its control file also writes, fsync, opens and requests for attributes. It prints "ready
// MOUNT" once it answers requests and unmounts on SIGTERM or SIGINT. Delays can be changed while it
// is mounted: echo "write 20ms train/" > MOUNT/.slowfs
//
// What a delay means to the reader. The kernel's page cache stays in use (except with --direct-io),
// so a delay is paid per request and not per read(2): a cached page costs nothing, and a cold file
// of up to 128 KiB that is read by one read(2) is one request, because the kernel's read-ahead
// window (128 KiB) holds it whole. Larger files take one request per window; a file read in small
// pieces takes one per step of the growing window (16, 32, 64 KiB ...). Requests are served side by
// side.
//
// Attributes are cached without limit: change files through the mount, not underneath it.
#include <getopt.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "delay_table.h"
#include "duration.h"
#include "event_log.h"
#include "passthrough.h"

namespace faults {
namespace {

constexpr const char* kControlPath = "/.slowfs";
constexpr std::uint64_t kControlHandle = ~std::uint64_t{0};
constexpr double kForever = 1e6;  // seconds

DelayTable delays;
EventLog event_log;
std::string mount_path;
bool direct_io = false;

bool is_control(const char* path) {
  return std::string_view(path) == kControlPath;
}
bool is_control(const fuse_file_info* info) {
  return info->fh == kControlHandle;
}

void* start(fuse_conn_info*, fuse_config* config) {
  config->entry_timeout = config->attr_timeout = kForever;
  std::printf("ready %s\n", mount_path.c_str());
  std::fflush(stdout);
  return nullptr;
}

// A request that lasts as long as the table says, from when it came.
class Slowed {
 public:
  Slowed(Operation operation, const char* path)
      : operation_(operation), path_(path), delay_ns_(delays.find(operation, path)) {}

  void wait(off_t offset, ssize_t bytes) const {
    if (delay_ns_ == 0) return;
    sleep_until(begin_ + delay_ns_);
    if (!event_log.enabled()) return;
    event_log.write(
        "{\"op\":\"" + std::string(operation_name(operation_)) +
        "\",\"path\":" + json_string(path_ + 1) + ",\"offset\":" + std::to_string(offset) +
        ",\"bytes\":" + std::to_string(bytes) + ",\"start_ns\":" + std::to_string(begin_) +
        ",\"end_ns\":" + std::to_string(now_ns()) + "}");
  }

 private:
  const Operation operation_;
  const char* const path_;
  const std::int64_t delay_ns_;
  const std::int64_t begin_ = now_ns();
};

int get_attributes(const char* path, struct stat* out, fuse_file_info*) {
  if (is_control(path)) {
    *out = {};
    out->st_mode = S_IFREG | 0644;
    out->st_nlink = 1;
    out->st_uid = getuid();
    out->st_gid = getgid();
    return 0;
  }
  const Slowed slowed(Operation::kStat, path);
  const int rc = fstatat(backing_fd, relative(path), out, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
  slowed.wait(0, 0);
  return rc;
}

int open_file(const char* path, fuse_file_info* info) {
  if (is_control(path)) {
    info->fh = kControlHandle;
    info->direct_io = 1;
    return 0;
  }
  const Slowed slowed(Operation::kOpen, path);
  // O_APPEND is the kernel's business here: it sends each write with its offset.
  const int flags = (info->flags & ~(O_CREAT | O_EXCL | O_DIRECT | O_APPEND)) | O_CLOEXEC;
  const int fd = openat(backing_fd, relative(path), flags);
  if (fd < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(fd);
  info->keep_cache = 1;
  info->direct_io = direct_io;
  slowed.wait(0, 0);
  return 0;
}

int create_file(const char* path, mode_t mode, fuse_file_info* info) {
  if (is_control(path)) return -EEXIST;
  const int flags = (info->flags & ~(O_DIRECT | O_APPEND)) | O_CREAT | O_CLOEXEC;
  const int fd = openat(backing_fd, relative(path), flags, mode);
  if (fd < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(fd);
  info->keep_cache = 1;
  info->direct_io = direct_io;
  return 0;
}

int read_control(char* out, size_t size, off_t offset) {
  const std::string text = delays.text();
  const auto from = std::min(text.size(), static_cast<size_t>(offset));
  const size_t n = std::min(size, text.size() - from);
  std::memcpy(out, text.data() + from, n);
  return static_cast<int>(n);
}

int read_file(const char* path, char* out, size_t size, off_t offset, fuse_file_info* info) {
  if (is_control(info)) return read_control(out, size, offset);
  const Slowed slowed(Operation::kRead, path);
  const ssize_t n = pread(static_cast<int>(info->fh), out, size, offset);
  if (n < 0) return -errno;
  slowed.wait(offset, n);
  return static_cast<int>(n);
}

int write_file(const char* path, const char* data, size_t size, off_t offset,
               fuse_file_info* info) {
  if (is_control(info)) {
    return delays.apply(std::string_view(data, size)) ? static_cast<int>(size) : -EINVAL;
  }
  const Slowed slowed(Operation::kWrite, path);
  const ssize_t n = pwrite(static_cast<int>(info->fh), data, size, offset);
  if (n < 0) return -errno;
  slowed.wait(offset, n);
  return static_cast<int>(n);
}

int sync_file(const char* path, int data_only, fuse_file_info* info) {
  const Slowed slowed(Operation::kFsync, path);
  const int fd = static_cast<int>(info->fh);
  const int rc = (data_only != 0 ? fdatasync(fd) : fsync(fd)) < 0 ? -errno : 0;
  slowed.wait(0, 0);
  return rc;
}

int truncate_file(const char* path, off_t size, fuse_file_info* info) {
  if (is_control(path)) return 0;  // the shell's ">" truncates first
  if (info != nullptr) return ftruncate(static_cast<int>(info->fh), size) < 0 ? -errno : 0;
  const int fd = openat(backing_fd, relative(path), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const int rc = ftruncate(fd, size) < 0 ? -errno : 0;
  close(fd);
  return rc;
}

fuse_operations operations() {
  fuse_operations ops = passthrough_operations();
  ops.init = start;
  ops.getattr = get_attributes;
  ops.open = open_file;
  ops.create = create_file;
  ops.read = read_file;
  ops.write = write_file;
  ops.truncate = truncate_file;
  ops.fsync = sync_file;
  return ops;
}

[[noreturn]] void usage(const std::string& problem) {
  std::fprintf(stderr,
               "slowfs: %s\nusage: slowfs BACKING MOUNT [--read-delay 5ms] "
               "[--delay-under SUBDIR=20ms]... [--direct-io] [--log FILE]\n",
               problem.c_str());
  std::exit(1);
}

void set_delay(std::string_view prefix, std::string_view duration) {
  const auto delay_ns = parse_duration(duration);
  if (!delay_ns) usage("'" + std::string(duration) + "' is no duration (5ms, 250us, 1s)");
  delays.set(Operation::kRead, prefix, *delay_ns);
}

// Returns the backing directory; sets the mount point and the options.
std::string parse_arguments(int argc, char** argv) {
  enum { kReadDelay = 1, kDelayUnder, kDirectIo, kLog };
  static const option kOptions[] = {{"read-delay", required_argument, nullptr, kReadDelay},
                                    {"delay-under", required_argument, nullptr, kDelayUnder},
                                    {"direct-io", no_argument, nullptr, kDirectIo},
                                    {"log", required_argument, nullptr, kLog},
                                    {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == kReadDelay) {
      set_delay("", optarg);
    } else if (c == kDelayUnder) {
      const std::string_view text = optarg;
      const size_t equals = text.rfind('=');
      if (equals == std::string_view::npos) usage("--delay-under takes SUBDIR=DURATION");
      set_delay(text.substr(0, equals), text.substr(equals + 1));
    } else if (c == kDirectIo) {
      direct_io = true;
    } else if (c == kLog) {
      if (!event_log.open(optarg)) usage(std::string(optarg) + ": " + std::strerror(errno));
    } else {
      usage("unknown option");
    }
  }
  if (argc - optind != 2) usage("takes a backing directory and a mount point");
  char* resolved = realpath(argv[optind + 1], nullptr);
  if (resolved == nullptr) usage(std::string(argv[optind + 1]) + ": " + std::strerror(errno));
  mount_path = resolved;
  std::free(resolved);
  return argv[optind];
}

int serve() {
  // Only root may let other users in without a line in /etc/fuse.conf.
  const std::string mount_options =
      std::string("fsname=slowfs,subtype=slowfs,default_permissions") +
      (geteuid() == 0 ? ",allow_other" : "");
  std::string program = "slowfs", flag = "-o", value = mount_options;
  char* arguments[] = {program.data(), flag.data(), value.data()};
  fuse_args args = FUSE_ARGS_INIT(3, arguments);
  const fuse_operations ops = operations();
  fuse* file_system = fuse_new(&args, &ops, sizeof ops, nullptr);
  fuse_opt_free_args(&args);
  if (file_system == nullptr) return 1;

  int rc = 1;
  fuse_session* session = fuse_get_session(file_system);
  if (fuse_set_signal_handlers(session) == 0) {
    if (fuse_mount(file_system, mount_path.c_str()) == 0) {
      fuse_loop_config* config = fuse_loop_cfg_create();
      // A reader that waits for a free thread would see more than the set delay.
      fuse_loop_cfg_set_max_threads(config, 64);
      const int end = fuse_loop_mt(file_system, config);
      rc = end < 0 ? 1 : 0;  // a positive value is the signal that ended it
      fuse_loop_cfg_destroy(config);
      fuse_unmount(file_system);
    }
    fuse_remove_signal_handlers(session);
  }
  fuse_destroy(file_system);
  return rc;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
  const std::string backing = faults::parse_arguments(argc, argv);
  faults::backing_fd = open(backing.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (faults::backing_fd < 0) faults::usage(backing + ": " + std::strerror(errno));
  // Threads inherit this: the default slack of 50 us would blur the short delays.
  prctl(PR_SET_TIMERSLACK, 1UL);
  umask(0);  // modes arrive with the caller's mask applied
  return faults::serve();
}
