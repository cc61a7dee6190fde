// SPDX-License-Identifier: Apache-2.0
#include "ledger/suspects.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace whystall::ledger {

using model::Cause;
using model::Diagnosis;
using model::DurationNs;
using model::Reason;
using model::Suspect;
using Verdict = model::Suspect::Verdict;

namespace {

enum class Needs { kWaits, kDriverCalls, kOwnCost, kNothingCan };

struct Usual {
  const char* name;
  const char* words;
  Needs needs;
  const char* why;  // kNothingCan: why
  std::vector<Cause> causes;
  std::vector<Cause> hidden_in;   // it may be part of these
  std::vector<Reason> hidden_by;  // ... and of an unknown with one of these reasons
};

const std::vector<Usual>& usual_suspects() {
  static const std::vector<Usual> kUsual = {
      {"cpu_quota",
       "CPU quota",
       Needs::kWaits,
       "",
       {Cause::kCpuThrottled},
       {Cause::kCpuWaiting},
       {}},
      {"cpu_wait",
       "waiting for a CPU",
       Needs::kWaits,
       "",
       {Cause::kCpuContention, Cause::kCpuOversubscription, Cause::kCpuWakeup, Cause::kCpuWaiting},
       {},
       {}},
      {"storage_read",
       "storage reads",
       Needs::kWaits,
       "",
       {Cause::kStorageRead, Cause::kStorageFault, Cause::kStorageMetadata},
       {},
       {Reason::kInterrupt, Reason::kKernelWorker, Reason::kInsideRead, Reason::kPageFault}},
      {"storage_write",
       "disk writes",
       Needs::kWaits,
       "",
       {Cause::kStorageWrite},
       {},
       {Reason::kInterrupt, Reason::kKernelWorker}},
      {"locks",
       "locks",
       Needs::kWaits,
       "",
       {Cause::kLockUser, Cause::kLockGil, Cause::kLockKernel},
       {},
       {Reason::kInsideRead}},
      {"network",
       "network",
       Needs::kWaits,
       "",
       {Cause::kNetRemote},
       {},
       {Reason::kInterrupt, Reason::kKernelWorker}},
      {"stops", "stops", Needs::kWaits, "", {Cause::kCpuStopped}, {}, {Reason::kStopped}},
      {"page_faults",
       "page faults",
       Needs::kWaits,
       "",
       {Cause::kMemoryFault},
       {Cause::kCpuBusy},
       {Reason::kInsideRead, Reason::kPageFault}},
      {"device_transfers",
       "device copies",
       Needs::kDriverCalls,
       "",
       {Cause::kGpuTransfer, Cause::kGpuAlloc},
       {},
       {}},
      {"observer", "whystall itself", Needs::kOwnCost, "", {Cause::kObserver}, {}, {}},
      {"swap", "swap", Needs::kNothingCan, "not watched", {}, {}, {}},
      {"memory_reclaim", "memory reclaim", Needs::kNothingCan, "not watched", {}, {}, {}},
      {"device_speed", "device speed", Needs::kNothingCan, "no GPU clock", {}, {}, {}},
  };
  return kUsual;
}

bool has(const auto& list, auto value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// An unknown that may be anything.
bool hides_all(Reason reason) {
  return has(
      std::initializer_list<Reason>{Reason::kNone, Reason::kNoRecord, Reason::kNoWake,
                                    Reason::kStillBlocked, Reason::kMutualWait, Reason::kTooDeep},
      reason);
}

/// Why this source cannot clear anything; empty: it can.
std::string why_not(const Diagnosis& d, const char* name, bool seen) {
  const auto source = std::find_if(d.meta.sources.begin(), d.meta.sources.end(),
                                   [&](const model::Source& s) { return s.name == name; });
  if (source == d.meta.sources.end() || source->from_ns == 0) return "its source is not told of";
  if (source->state != "live")
    return std::string(name) + (source->state == "degraded" ? " not all seen" : " not watched");
  if (source->from_ns > d.meta.start_ns ||
      (source->until_ns != 0 && source->until_ns < d.meta.end_ns))
    return std::string(name) + " not watched all the time";
  if (!source->tested && !seen) return "no self-test of its source";
  return "";
}

std::string why_damaged(const Diagnosis& d) {
  const model::LoadStats& load = d.load;
  if (load.cut || load.no_end) return "recording cut short";
  return load.bad_records + load.damaged_chunks > 0 ? "recording damaged" : "";
}

/// The first reason that is one.
std::string first_of(std::initializer_list<std::string> reasons) {
  for (const std::string& reason : reasons) {
    if (!reason.empty()) return reason;
  }
  return "";
}

std::string why_no_waits(const Diagnosis& d, const Watched& w) {
  return first_of({why_not(d, "waits", w.waits), why_not(d, "wake context", w.wake_context),
                   w.where_lost_ns * 100 >= d.stalled_ns() ? "events lost" : ""});
}

std::string why_no_calls(const Diagnosis& d, const Watched& w) {
  return first_of({why_not(d, "driver calls", w.driver_calls),
                   d.meta.api_complete ? "" : "driver calls not all seen",
                   w.lost_calls > 0 ? "events lost" : ""});
}

/// The time in the probes is the target's own, as the kernel counts it.
std::string why_own_cost(const Diagnosis& d) {
  if (d.meta.cost_cpu_share < 0) return "its cost was not measured";
  const double most = d.meta.cost_cpu_share * static_cast<double>(d.window_ns);
  return most * 100 < static_cast<double>(d.stalled_ns()) ? "" : "its probes may matter";
}

DurationNs time_of(const Diagnosis& d, const std::vector<Cause>& causes) {
  DurationNs ns = 0;
  for (const model::Finding& f : d.findings) {
    if (has(causes, f.cause)) ns += f.ns;
  }
  return ns;
}

/// Where a chain ends at another process, anything may have held that one up.
const std::vector<Cause>& behind_others() {
  static const std::vector<Cause> kOthers = {Cause::kIpcWorker, Cause::kIpcPipe, Cause::kIpcChild};
  return kOthers;
}

/// Of what is not known, what may be this.
DurationNs hidden_from(const Diagnosis& d, const Usual& usual) {
  DurationNs ns = time_of(d, usual.hidden_in);
  if (usual.needs == Needs::kWaits) ns += time_of(d, behind_others());
  for (const model::Finding& f : d.findings) {
    if (f.cause != Cause::kUnknown) continue;
    for (const auto& object : f.objects) {
      if (hides_all(object.id.reason) || has(usual.hidden_by, object.id.reason)) ns += object.ns;
    }
  }
  return ns;
}

/// The largest part of it.
std::string where_hidden(const Diagnosis& d, const Usual& usual) {
  const DurationNs in_causes = time_of(d, usual.hidden_in);
  const DurationNs behind = usual.needs == Needs::kWaits ? time_of(d, behind_others()) : 0;
  const DurationNs unknown = hidden_from(d, usual) - in_causes - behind;
  if (in_causes >= std::max(behind, unknown) && !usual.hidden_in.empty())
    return "perhaps in " + std::string(model::cause_name(usual.hidden_in.front()));
  return behind > unknown ? "perhaps behind another process" : "perhaps in the unknown";
}

}  // namespace

Watched watched_in(const model::Recording& recording) {
  Watched watched;
  const model::Interval window = recording.window();
  for (const wst_loss& loss : recording.losses) {
    const bool within = static_cast<model::TimeNs>(loss.last_ns) >= window.lo &&
                        static_cast<model::TimeNs>(loss.first_ns) < window.hi;
    const bool timed = loss.last_ns != 0;  // one without a time may lie anywhere
    if (loss.loss_class == WST_LOST_API && (within || !timed)) watched.lost_calls += loss.count;
  }
  watched.waits = !recording.waits.empty();
  watched.wake_context =
      std::any_of(recording.waits.begin(), recording.waits.end(), [](const wst_wait& wait) {
        return (wait.flags & WST_WAIT_WOKEN) != 0 && wait.waker_context != WST_CTX_TASK;
      });
  watched.driver_calls = !recording.api.empty();
  return watched;
}

std::vector<Suspect> suspects(const Diagnosis& d, const Watched& watched) {
  std::vector<Suspect> all;
  if (d.stalled_ns() <= 0) return all;
  const DurationNs bound = d.stalled_ns() / 100;
  const std::string damaged = why_damaged(d);
  const std::string no_waits = first_of({why_no_waits(d, watched), damaged});
  const std::string no_calls = first_of({why_no_calls(d, watched), damaged});
  DurationNs through_locks = 0;
  for (const model::LockTime& lock : d.through_locks)
    through_locks = std::max(through_locks, lock.ns);
  for (const Usual& usual : usual_suspects()) {
    Suspect one{usual.name, usual.words, Verdict::kNotChecked, time_of(d, usual.causes), ""};
    if (one.name == "locks") one.ns = std::max(one.ns, through_locks);
    switch (usual.needs) {
      case Needs::kWaits:
        one.why = no_waits;
        break;
      case Needs::kDriverCalls:
        one.why = first_of({no_calls, no_waits});
        break;
      case Needs::kOwnCost:
        one.why = first_of({no_waits, why_own_cost(d)});
        break;
      case Needs::kNothingCan:
        one.why = usual.why;
        break;
    }
    if (one.ns >= bound && one.ns > 0) {
      one.verdict = Verdict::kFound;
      one.why.clear();
    } else if (one.why.empty() &&
               one.ns + hidden_from(d, usual) >= std::max<DurationNs>(bound, 1)) {
      one.why = where_hidden(d, usual);
    } else if (one.why.empty()) {
      one.verdict = Verdict::kCleared;
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace whystall::ledger
