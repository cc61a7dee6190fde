// SPDX-License-Identifier: Apache-2.0
// Contexts, streams and events, as planned times: a stream is its tail, an event the moment it was
// recorded at.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "wait.h"
#include "when.h"

namespace gpusim {

constexpr size_t kStreamDepth = 1024;

struct Capture;
struct Context;

struct Stream {
  Context* context = nullptr;
  uint32_t id = 0;       // 0: the legacy default stream of its context
  bool blocking = true;  // joins the legacy default stream
  unsigned int flags = 0;
  int priority = 0;
  When tail;
  std::vector<When> ends;  // of the last kStreamDepth submissions, once there was one
  size_t next = 0;

  std::shared_ptr<Capture> capture;
  std::vector<uint32_t> tips;  // nodes of the capture that the next one comes after

  bool legacy() const { return id == 0; }
  // Makes the stream busy until then.
  void extend(const When& end) { tail.join(end); }
  // When the queue has room for one more; kUnknown: not known yet.
  int64_t room_ns();
  void push(const When& end);
};

struct Context {
  uint32_t id = 0;
  uint32_t device = 0;  // ordinal
  unsigned int flags = 0;
  SyncMode sync_mode = SyncMode::kSpin;
  std::mutex lock;  // held by a thread that submits, while it pays for that
  std::unique_ptr<Stream> legacy;
  std::unordered_map<uint64_t, Stream*> per_thread;
  std::unordered_set<Stream*> streams;  // all but the legacy one
  // What destroyed streams left: all of them, and those the legacy stream joins.
  When gone;
  When gone_blocking;
};

struct Event {
  unsigned int flags = 0;
  bool recorded = false;
  When done;
  // Of a record in a capturing stream.
  std::shared_ptr<Capture> capture;
  std::vector<uint32_t> tips;
};

// When everything that work in `stream` must wait for is done.
When gate(const Stream& stream);
// End of what was put into it. Only the legacy stream's own work includes other streams'.
When end_of(const Stream& stream);
// End of all of a context's work.
When end_of(const Context& context);

}  // namespace gpusim
