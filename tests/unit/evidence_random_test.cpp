// SPDX-License-Identifier: Apache-2.0
//
// Random programs on a model of a device, recorded as the kernel side records them: what is claimed
// of a context must be so, whatever the calls.
//   WHYSTALL_EVIDENCE_SCHEDULES=N  how many (default 1,000)
//   WHYSTALL_EVIDENCE_SEED=N       the first one's; with it, the default is that one alone
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "evidence/evidence.h"
#include "evidence/intervals.h"
#include "support/random_program.h"

namespace whystall::evidence {
namespace {

using model::Confidence;
using model::DurationNs;
using model::Interval;
using model::TimeNs;
using testing::ModelDevice;
using testing::RandomProgram;
using Op = ModelDevice::Op;

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

DurationNs total(const Intervals& intervals) {
  DurationNs sum = 0;
  for (const Interval& i : intervals) sum += i.length();
  return sum;
}

const char* name_of(std::uint16_t kind) {
  constexpr const char* names[] = {"?",
                                   "submit",
                                   "sync_stream",
                                   "sync_context",
                                   "sync_event",
                                   "record_event",
                                   "sync_copy",
                                   "context",
                                   "query_stream",
                                   "query_event",
                                   "wait_event",
                                   "stream_create",
                                   "stream_destroy",
                                   "event_destroy",
                                   "copy",
                                   "memory",
                                   "context_new",
                                   "context_destroy",
                                   "context_device"};
  return kind < std::size(names) ? names[kind] : "?";
}

struct Sum {
  DurationNs empty = 0, starved = 0, proven = 0, pending = 0, had_work = 0;
};

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : seed_(seed), program_(seed) {
    program_.run();
    recording_ = program_.kernel().recording();
    const timeline::Timeline timeline(recording_);
    evidence_ = find_evidence(recording_, {recording_, timeline});
  }

  const testing::Traits& traits() const { return program_.traits(); }

  /// The first thing that is wrong; empty: nothing.
  std::string check(Sum& sum) const {
    if (supposes_one_context(0)) return {};
    for (const Context& context : evidence_.contexts) {
      if (std::string wrong = check(context, sum); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  bool means(const Context& context, const Op& op) const {
    return evidence_.contexts.size() == 1 || program_.device_of(op.context) == context.device;
  }
  /// Of the contexts of a program that began before the recording, or lost records, so many are
  /// told. With one, it is likely that there is no other; with none, it is taken for granted.
  bool supposes_one_context(std::size_t told) const {
    std::set<std::uint64_t> handles;
    for (const wst_api& call : recording_.api) {
      if (call.call == WST_API_CONTEXT) handles.insert(call.event);
    }
    return traits().contexts > 1 && handles.size() == told;
  }
  /// Work from before the attach, on a stream that had not been named since.
  bool never_seen(const Op& op, TimeNs at) const {
    const TimeNs named = program_.device().streams[op.stream].named;
    return op.entry < recording_.meta.start_ns && (named == 0 || named > at);
  }

  /// The same, in a context of which nothing had been seen since: that it exists is not known.
  bool of_unseen_context(const Op& op, TimeNs at) const {
    const auto& streams = program_.device().streams;
    return op.entry < recording_.meta.start_ns && std::none_of(
                                                      streams.begin(), streams.end(),
                                                      [&](const ModelDevice::Stream& s) {
                                                        return s.context == op.context &&
                                                               s.named > 0 && s.named <= at;
                                                      });
  }

  std::string check(const Context& context, Sum& sum) const {
    TimeNs at = recording_.meta.start_ns;
    Intervals pending, starved, proven, had_work;
    std::vector<const Op*> ops;
    for (const Op& op : program_.device().ops) {
      if (!means(context, op)) continue;
      pending.push_back({op.entry, op.end});
      ops.push_back(&op);
    }
    pending = clipped(united(std::move(pending)), recording_.window());
    const bool supposed = supposes_one_context(1);
    for (const Stretch& s : context.stretches) {
      if (s.at.lo != at || s.at.length() <= 0) return told(s, nullptr, "does not follow the last");
      at = s.at.hi;
      if (s.state == State::kHadWork) {
        had_work.push_back(s.at);
        if (const auto idle = without({s.at}, pending); !idle.empty())
          return told(s, nullptr, "no work pending", idle.front());
      }
      if (s.state != State::kStarved) continue;
      starved.push_back(s.at);
      if (s.confidence == Confidence::kProven) proven.push_back(s.at);
      for (const Op* op : ops) {
        if (op->entry >= s.at.hi || op->end <= s.at.lo) continue;
        if (of_unseen_context(*op, s.at.lo)) continue;
        const bool likely = s.confidence == Confidence::kLikely;
        if (likely && (supposed || never_seen(*op, s.at.lo))) continue;
        return told(s, op, "work pending");
      }
    }
    if (at != recording_.meta.end_ns)
      return "seed " + std::to_string(seed_) + ": window not covered";
    sum.empty += total(without({recording_.window()}, pending));
    sum.pending += total(pending);
    sum.starved += total(starved);
    sum.proven += total(proven);
    sum.had_work += total(had_work);
    return {};
  }

  std::string told(const Stretch& s, const Op* op, const char* what, Interval wrong = {}) const {
    const TimeNs from = recording_.meta.start_ns;
    const auto us = [&](TimeNs t) {
      char text[32];
      std::snprintf(text, sizeof text, "%.3f", static_cast<double>(t - from) / 1e3);
      return std::string(text);
    };
    constexpr const char* states[] = {"starved", "had work", "not known"};
    std::ostringstream out;
    const testing::Traits& t = traits();
    out << "seed " << seed_ << ": " << states[static_cast<int>(s.state)] << " [" << us(s.at.lo)
        << ", " << us(s.at.hi) << ") "
        << (s.state == State::kStarved ? confidence_name(s.confidence) : "") << " us: " << what
        << (t.late ? " late" : "") << (t.lossy ? " lossy" : "") << (t.stumbles ? " stumbles" : "")
        << (t.moves_events ? " moves events" : "") << (t.fills_queues ? " fills queues" : "")
        << "; contexts " << t.contexts << "\n";
    if (op) {
      out << "  op entered " << us(op->entry) << " on "
          << program_.device().streams[op->stream].handle << " runs " << us(op->start) << " to "
          << us(op->end) << "\n";
    }
    if (wrong.length() > 0) out << "  idle " << us(wrong.lo) << " to " << us(wrong.hi) << "\n";
    for (const wst_wait& w : recording_.waits) {
      const auto in = static_cast<TimeNs>(w.h.ts);
      if (in < s.at.hi - 2'000'000 || in > s.at.hi + 3'000'000) continue;
      out << "  thread " << w.tid - RandomProgram::kPid << " off "
          << us(static_cast<TimeNs>(w.out_ns)) << " woken "
          << (w.wake_ns ? us(static_cast<TimeNs>(w.wake_ns)) : "-") << " on " << us(in) << " call "
          << w.nr << " waker " << int{w.waker_context} << "\n";
    }
    if (s.proof != kNoCall) {
      const wst_api& proof = recording_.api[s.proof];
      out << "  proof: " << name_of(proof.call) << " of " << proof.tid << " entered "
          << us(static_cast<TimeNs>(proof.entry_ns)) << "\n";
    }
    for (const auto& loss : recording_.losses)
      out << "  lost " << us(static_cast<TimeNs>(loss.first_ns)) << " to "
          << us(static_cast<TimeNs>(loss.last_ns)) << "\n";
    const auto& calls = program_.calls();
    std::size_t first = 0, last = 0;
    for (std::size_t i = 0; i < calls.size(); i++) {
      if (calls[i].entry <= s.at.lo) first = i;
      if (calls[i].entry <= s.at.hi + 20'000) last = i;
    }
    const std::size_t after = first + 15;
    first = first < 25 ? 0 : first - 25;
    for (std::size_t i = first; i <= last && i < calls.size(); i++) {
      if (i > after && i + 25 < last) continue;
      const testing::Call& c = calls[i];
      char line[160];
      std::snprintf(line, sizeof line, "  %zu %-14s %12s %12s %12s stream %llx event %llx ret %d\n",
                    c.thread, name_of(c.kind), us(c.entry).c_str(),
                    c.effect ? us(c.effect).c_str() : "-", c.end ? us(c.end).c_str() : "-",
                    static_cast<unsigned long long>(c.stream),
                    static_cast<unsigned long long>(c.event), c.ret);
      out << line;
    }
    return out.str();
  }

  std::uint64_t seed_;
  RandomProgram program_;
  model::Recording recording_;
  Evidence evidence_;
};

double share(DurationNs part, DurationNs of) {
  return of > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(of) : 0;
}

TEST(RandomSchedules, NothingIsClaimedThatIsNotSo) {
  const std::uint64_t first = number("WHYSTALL_EVIDENCE_SEED", 0);
  const std::uint64_t many = number("WHYSTALL_EVIDENCE_SCHEDULES", first ? 1 : 1000);
  Sum all, often;
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = first; seed < first + many; seed++) {
    const Schedule schedule(seed);
    Sum& sum = schedule.traits().syncs_often ? often : all;
    const std::string what = schedule.check(sum);
    if (what.empty()) continue;
    if (++wrong <= 5) ADD_FAILURE() << what;
    if (wrong > 5) std::printf("%s\n", what.substr(0, what.find('\n')).c_str());
  }
  EXPECT_EQ(wrong, 0u);
  for (const Sum* s : {&often, &all}) {
    std::printf("%s: starved %.1f %% of empty (proven %.1f %%), had work %.1f %% of pending\n",
                s == &often ? "syncs often" : "syncs seldom", share(s->starved, s->empty),
                share(s->proven, s->empty), share(s->had_work, s->pending));
  }
  if (many < 100) return;
  EXPECT_GT(share(often.starved, often.empty), 25);
  EXPECT_GT(share(often.proven, often.empty), 10);
  // These schedules are short, and the last 0.2 ms of each wait, 4 ms where CPUs are stolen, are
  // not claimed.
  EXPECT_GT(share(often.had_work, often.pending), 20);
}

}  // namespace
}  // namespace whystall::evidence
