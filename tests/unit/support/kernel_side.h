// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "model/recording.h"

namespace whystall::testing {

using model::Interval;
using model::Tid;
using model::TimeNs;

/// Driver calls and waits of one process's threads as records: the same as bpf/cuda.bpf.c and
/// bpf/sched.bpf.c make of them, from the attach to the end of the recording. Each thread's calls
/// come in the order of time.
class KernelSide {
 public:
  KernelSide(model::Pid pid, Interval recorded, std::vector<Interval> losses)
      : pid_(pid), recorded_(recorded), losses_(std::move(losses)), lost_(losses_.size()) {}

  void submit(Tid tid, TimeNs now, std::uint64_t stream) {
    if (!seen(now)) return;
    Thread& t = threads_[tid];
    t.submits++;
    Run& run = t.run;
    if (run.count && run.call == WST_API_SUBMIT && run.stream == stream &&
        now - run.last <= static_cast<TimeNs>(WST_API_RUN_GAP_NS) &&
        now - run.first <= static_cast<TimeNs>(WST_API_RUN_NS)) {
      run.count++;
      run.last = now;
      return;
    }
    t.submits--;
    tell_run(tid, now);
    t.submits++;
    run = {now, now, 0, stream, 0, 1, 0, 0, WST_API_SUBMIT};
  }

  /// A call that is told at its entry.
  void enter(Tid tid, TimeNs now, std::uint16_t call, std::uint64_t stream, std::uint64_t event) {
    if (!seen(now)) return;
    tell_run(tid, now);
    tell(now, record(tid, call, now, now, stream, event, 0));
  }

  /// A call that is told at its return.
  void begin(Tid tid, TimeNs now, std::uint16_t call, std::uint64_t stream, std::uint64_t event) {
    if (!seen(now)) return;
    Thread& t = threads_[tid];
    if (!is_query(call)) tell_run(tid, now);
    t.timed = {now, call, stream, event};
    if (call == WST_API_SYNC_COPY || call == WST_API_COPY) {
      t.submits++;
      tell(now, record(tid, WST_API_SUBMIT, now, now, stream, 0, 0));
    }
  }
  void end(Tid tid, TimeNs now, int result, std::uint64_t stolen) {
    const Timed timed = threads_[tid].timed;
    end(tid, now, result, stolen, timed.stream, timed.event, 0);
  }
  /// Of one whose result tells a handle.
  void end(Tid tid, TimeNs now, int result, std::uint64_t stolen, std::uint64_t stream,
           std::uint64_t event, std::uint64_t bytes) {
    Thread& t = threads_[tid];
    if (now > recorded_.hi || t.timed.entry == 0) return;
    const Timed timed = t.timed;
    t.timed.entry = 0;
    if (is_query(timed.call)) return end_query(tid, now, timed, result);
    const bool only_long = timed.call == WST_API_COPY || timed.call == WST_API_MEMORY;
    if (only_long && now - timed.entry < static_cast<TimeNs>(WST_API_LONG_NS)) return;
    wst_api r = record(tid, timed.call, now, timed.entry, stream, event, result);
    r.stolen_ns = stolen;
    r.bytes = bytes;
    tell(now, r);
  }

  /// It leaves the CPU, or is sampled there.
  void interrupt(Tid tid, TimeNs now) {
    if (seen(now)) tell_run(tid, now);
  }

  /// On the CPU since the last stay; off it from `out` to `in`.
  void stay(Tid tid, TimeNs out, TimeNs in, wst_wait like) {
    Thread& t = threads_[tid];
    interrupt(tid, out);
    const TimeNs ran = std::max(t.in, recorded_.lo);
    t.in = in;
    if (in <= recorded_.lo || out >= recorded_.hi) return;
    like.tid = tid;
    like.tgid = pid_;
    like.ran_ns = ran < out ? static_cast<std::uint64_t>(ran) : 0;
    if (out < recorded_.lo) like.flags |= WST_WAIT_BEFORE;
    like.out_ns = static_cast<std::uint64_t>(std::max(out, recorded_.lo));
    if (in > recorded_.hi) {
      like.flags |= WST_WAIT_OPEN;
      if (like.wake_ns > static_cast<std::uint64_t>(recorded_.hi)) like.flags &= ~WST_WAIT_WOKEN;
    }
    like.h = {sizeof like, WST_WAIT, 0, 0, static_cast<std::uint64_t>(std::min(in, recorded_.hi))};
    waits_.push_back(like);
  }

  /// Of a thread that this was the first sign of.
  void start(Tid tid, TimeNs now) { threads_[tid].in = now; }

  void dump(TimeNs now) {
    if (!seen(now)) return;
    for (auto& [tid, t] : threads_) {
      if (t.run.count != t.run.told) tell(now, record_of_run(tid));
      if (!t.timed.entry) continue;
      tell(now, record(tid, t.timed.call, now, t.timed.entry, t.timed.stream, t.timed.event,
                       WST_API_OPEN));
    }
  }

  model::Recording recording() {
    model::Recording r;
    r.meta.start_ns = recorded_.lo;
    r.meta.end_ns = recorded_.hi;
    for (auto& [tid, t] : threads_) {
      r.tasks[tid] = {tid, pid_, "t", true, false};
      if (t.in >= recorded_.hi) continue;
      wst_wait w{};
      w.h = {sizeof w, WST_WAIT, 0, 0, static_cast<std::uint64_t>(recorded_.hi)};
      w.ran_ns = static_cast<std::uint64_t>(std::max(t.in, recorded_.lo));
      w.out_ns = w.h.ts;
      w.tid = tid;
      w.tgid = pid_;
      w.nr = w.waker_nr = -1;
      w.flags = WST_WAIT_RUNNING | WST_WAIT_OPEN;
      waits_.push_back(w);
    }
    r.waits = waits_;
    r.api = api_;
    for (const wst_loss& loss : lost_) {
      if (loss.count) r.losses.push_back(loss);
    }
    const auto by_time = [](const auto& a, const auto& b) { return a.h.ts < b.h.ts; };
    std::stable_sort(r.waits.begin(), r.waits.end(), by_time);
    std::stable_sort(r.api.begin(), r.api.end(), by_time);
    return r;
  }

 private:
  struct Run {
    TimeNs first = 0, last = 0, end = 0;
    std::uint64_t stream = 0, event = 0;
    std::uint32_t count = 0, told = 0;
    int ret = 0;
    std::uint16_t call = 0;
  };
  struct Timed {
    TimeNs entry = 0;
    std::uint16_t call = 0;
    std::uint64_t stream = 0, event = 0;
  };
  struct Thread {
    Run run;
    Timed timed;
    std::uint32_t submits = 0;
    TimeNs in = 0;
  };

  static bool is_query(std::uint16_t call) {
    return call == WST_API_QUERY_STREAM || call == WST_API_QUERY_EVENT;
  }
  bool seen(TimeNs now) const { return now >= recorded_.lo && now <= recorded_.hi; }

  wst_api record(Tid tid, std::uint16_t call, TimeNs ts, TimeNs entry, std::uint64_t stream,
                 std::uint64_t event, int ret) {
    wst_api r{};
    r.h = {sizeof r, WST_API, 0, 0, static_cast<std::uint64_t>(ts)};
    r.entry_ns = static_cast<std::uint64_t>(entry);
    r.stream = stream;
    r.event = event;
    r.tid = tid;
    r.tgid = pid_;
    r.call = call;
    r.ret = ret;
    r.count = 1;
    r.submits = threads_[tid].submits;
    return r;
  }
  wst_api record_of_run(Tid tid) {
    const Run& run = threads_[tid].run;
    const TimeNs ts = run.call == WST_API_SUBMIT ? run.first : run.end;
    wst_api r = record(tid, run.call, ts, run.first, run.stream, run.event, run.ret);
    r.last_ns = static_cast<std::uint64_t>(run.last);
    r.count = run.count - run.told;
    return r;
  }
  void tell_run_so_far(Tid tid, TimeNs now) {
    Run& run = threads_[tid].run;
    if (run.count == run.told) return;
    tell(now, record_of_run(tid));
    run.told = run.count;
  }
  void tell_run(Tid tid, TimeNs now) {
    tell_run_so_far(tid, now);
    threads_[tid].run.count = threads_[tid].run.told = 0;
  }
  void end_query(Tid tid, TimeNs now, const Timed& timed, int ret) {
    Run& run = threads_[tid].run;
    if (run.count && run.call == timed.call && run.ret == ret && run.stream == timed.stream &&
        run.event == timed.event &&
        timed.entry - run.first <= static_cast<TimeNs>(WST_API_RUN_NS)) {
      run.count++;
    } else {
      tell_run(tid, now);
      run = {timed.entry, 0, 0, timed.stream, timed.event, 1, 0, ret, timed.call};
    }
    run.last = timed.entry;
    run.end = now;
    if (ret == WST_API_DONE && !run.told) tell_run_so_far(tid, now);
  }
  /// Lost records are counted at the time that they would have borne.
  void tell(TimeNs now, const wst_api& r) {
    for (std::size_t i = 0; i < losses_.size(); i++) {
      if (now < losses_[i].lo || now >= losses_[i].hi) continue;
      wst_loss& loss = lost_[i];
      if (loss.count++ == 0) loss.first_ns = loss.last_ns = r.h.ts;
      loss.first_ns = std::min<std::uint64_t>(loss.first_ns, r.h.ts);
      loss.last_ns = std::max<std::uint64_t>(loss.last_ns, r.h.ts);
      loss.h = {sizeof loss, WST_LOSS, 0, 0, static_cast<std::uint64_t>(recorded_.hi)};
      loss.loss_class = WST_LOST_API;
      return;
    }
    api_.push_back(r);
  }

  model::Pid pid_;
  Interval recorded_;
  std::vector<Interval> losses_;
  std::vector<wst_loss> lost_;
  std::map<Tid, Thread> threads_;
  std::vector<wst_wait> waits_;
  std::vector<wst_api> api_;
};

}  // namespace whystall::testing
