// SPDX-License-Identifier: Apache-2.0
// A recording is read in parts, from its end: the answer is the same wherever it is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "ledger/ledger.h"
#include "output/output.h"
#include "support/random_recording.h"
#include "support/sliced_recording.h"

namespace whystall::ledger {
namespace {

using model::Diagnosis;
using model::Recording;
using model::TimeNs;
using testing::RandomRecording;
using testing::SlicedRecording;

/// What the JSON does not tell, beside it. When a hop of a chain began and ended is left out: that
/// is told of the slab only, which is a fault.
std::string told(Diagnosis d) {
  for (auto* findings : {&d.findings, &d.silence_findings}) {
    for (model::Finding& f : *findings) {
      for (auto& e : f.evidence) {
        for (auto& hop : e.chain) hop.at = {};
      }
    }
  }
  std::ostringstream text;
  text << output::render_json(d) << d.conservation_error_ns << "\n";
  for (const auto* findings : {&d.findings, &d.silence_findings}) {
    for (const model::Finding& f : *findings) {
      text << model::cause_name(f.cause) << " " << f.ns << " in " << f.pieces << " of " << f.gaps;
      for (const auto ns : f.by_confidence) text << " " << ns;
      text << " by " << f.path << "\n";
      for (const auto& object : f.objects) text << "  " << object.name << " " << object.ns << "\n";
    }
  }
  return text.str();
}

/// Adds what RandomRecording leaves out: short waits that were added up, moves between CPUs, open
/// waits that were shown before they ended, losses.
class More {
 public:
  More(Recording& recording, std::mt19937_64& random) : recording_(recording), random_(random) {}

  void add() {
    std::map<model::Tid, std::vector<wst_wait>> threads;
    for (const wst_wait& wait : recording_.waits) threads[wait.tid].push_back(wait);
    for (const auto& [tid, waits] : threads) {
      for (const wst_wait& wait : waits) {
        if (wait.ran_ns && wait.ran_ns < wait.out_ns && pick(2)) add_sums(wait);
        if (pick(6) == 0) show_open(wait);
      }
    }
    for (wst_wait& wait : recording_.waits) {
      if (pick(4) == 0) move(wait);
    }
    for (std::size_t i = pick(3); i > 0; i--) lose();
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return random_() % n; }

  void add_sums(const wst_wait& wait) {
    const std::uint64_t length = wait.out_ns - wait.ran_ns;
    model::Sums sums{};
    sums.head.h = {sizeof(wst_sums), WST_SUMS, 0, 0, wait.out_ns};
    sums.head.from_ns = wait.ran_ns;
    sums.head.tid = wait.tid;
    sums.head.tgid = wait.tgid;
    sums.head.count = static_cast<std::uint32_t>(1 + pick(2));
    for (std::uint32_t i = 0; i < sums.head.count; i++) {
      wst_sum sum{};
      sum.first_ns = wait.ran_ns;
      sum.out_ns = wait.ran_ns + pick(length);
      sum.wake_ns = sum.out_ns + pick(1 + length / 8);
      sum.in_ns = std::min(wait.out_ns, sum.wake_ns + pick(1 + length / 8));
      sum.count = static_cast<std::uint32_t>(1 + pick(20));
      sum.blocked_ns = pick(1 + length / 3);
      sum.runnable_ns = pick(1 + length / 6);
      sum.flags = WST_WAIT_BLOCKED | WST_WAIT_WOKEN;
      sum.file_kind = pick(2) ? WST_FILE_PIPE : WST_FILE_NONE;
      sum.object = pick(2) ? 0x1000 : 0;
      sum.nr = sum.file_kind ? 0 : 202;
      sum.waker_tid = 100 + static_cast<model::Tid>(pick(6));
      sum.waker_tgid = 100 + static_cast<model::Pid>(pick(2));
      sums.entries.push_back(sum);
    }
    recording_.sums.push_back(std::move(sums));
  }

  void show_open(wst_wait wait) {
    if (wait.h.ts <= wait.out_ns + 1) return;
    wait.h.ts = wait.out_ns + 1 + pick(wait.h.ts - wait.out_ns - 1);
    wait.flags = (wait.flags | WST_WAIT_OPEN) & ~static_cast<std::uint32_t>(WST_WAIT_WOKEN);
    recording_.waits.push_back(wait);
  }

  void move(wst_wait& wait) {
    if (wait.h.ts <= wait.out_ns) return;
    wait.flags |= WST_WAIT_MIGRATED;
    std::uint32_t cpu = static_cast<std::uint32_t>(pick(3));
    std::set<std::uint64_t> times;
    for (std::size_t i = pick(4); i > 0; i--)
      times.insert(wait.out_ns + pick(wait.h.ts - wait.out_ns));
    for (const std::uint64_t at : times) {
      wst_migrate move{};
      move.h = {sizeof move, WST_MIGRATE, 0, 0, at};
      move.tid = wait.tid;
      move.from_cpu = cpu;
      cpu = move.to_cpu =
          at == *times.rbegin() && pick(4) ? wait.h.cpu : static_cast<std::uint32_t>(pick(3));
      recording_.migrations.push_back(move);
    }
  }

  void lose() {
    wst_loss loss{};
    loss.h = {sizeof loss, WST_LOSS, 0, 0, 99'000'000};
    loss.first_ns = pick(100'000'000);
    loss.last_ns = loss.first_ns + pick(5'000'000);
    loss.count = 1;
    loss.loss_class = pick(2) ? WST_LOST_WAIT : WST_LOST_SLICE;
    recording_.losses.push_back(loss);
  }

  Recording& recording_;
  std::mt19937_64& random_;
};

/// Cuts anywhere, and at the times of records, where something begins or ends.
std::vector<TimeNs> random_cuts(const Recording& recording, std::mt19937_64& random) {
  std::vector<TimeNs> cuts;
  for (std::size_t i = 1 + random() % 8; i > 0; i--) {
    const bool at_record = random() % 2 && !recording.waits.empty();
    const auto& wait =
        recording.waits.empty() ? wst_wait{} : recording.waits[random() % recording.waits.size()];
    cuts.push_back(static_cast<TimeNs>(at_record ? (random() % 2 ? wait.h.ts : wait.out_ns)
                                                 : random() % 110'000'000));
  }
  return cuts;
}

/// Up to where the two texts are the same.
std::string same_until(const std::string& a, const std::string& b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return a.substr(0, static_cast<std::size_t>(differ.first - a.begin()));
}

// The sanitizers look for other faults, and make each recording thirty times as dear.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kRecordings = 400;
#else
constexpr std::uint64_t kRecordings = 4'000;
#endif

// What contradicts itself may be understood in one way or another, but its time is conserved.
TEST(Slabs, TheAnswerIsTheSameWhereverTheRecordingIsCut) {
  RandomRecording source(31);
  std::size_t walked = 0;
  for (std::uint64_t i = 0; i < kRecordings && !HasFailure(); i++) {
    Recording recording = source.make();
    More(recording, source.random()).add();
    const Diagnosis whole = diagnose(recording);
    SlicedRecording cut(recording, random_cuts(recording, source.random()), i % 2 == 1);
    const auto parts = diagnose(cut);
    ASSERT_TRUE(parts.ok());
    EXPECT_EQ(parts.value().conservation_error_ns, 0) << "recording " << i;
    walked += whole.gaps > 0;
    if (!source.consistent()) continue;
    const std::string expected = told(whole), found = told(parts.value());
    EXPECT_TRUE(found == expected) << "recording " << i << ": after\n"
                                   << same_until(found, expected);
  }
  EXPECT_TRUE(HasFailure() || walked >= kRecordings / 4)
      << walked << ": the recordings have no gaps";
}

}  // namespace
}  // namespace whystall::ledger
