// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "evidence/history.h"
#include "model/recording.h"

namespace whystall::evidence {

/// How far a proof reaches into a stream: to the submits whose calls were entered up to here. An
/// index into a stream's work is that time: it needs no count, and a run of submits whose single
/// times are not known has a last one.
struct Reach {
  model::TimeNs sure = 0;    // these are covered
  model::TimeNs likely = 0;  // these too, unless a call took as long as no call does
  model::TimeNs most = 0;    // the latest one that may be; 0: none was seen
};

using StreamId = std::uint32_t;

/// What must be done before something is: of each stream, how far.
using Vector = std::map<StreamId, Reach>;

enum class Blocking : std::uint8_t { kUnknown, kYes, kNo };  // with the legacy default stream

using ContextId = std::uint64_t;

/// A context whose handle is not known is one of its own: what a thread used before the attach, or
/// got by a call that does not tell the handle, stays the same until the next change.
constexpr ContextId kUnknownContext = ContextId{1} << 63;
inline bool unknown(ContextId context) {
  return (context & kUnknownContext) != 0;
}

/// The last run of submits of one thread to a stream.
struct Submits {
  model::TimeNs first = 0, last = 0;
};

struct Stream {
  ContextId context = 0;
  bool context_in_doubt = false;  // calls were lost: its handle may be another's now
  bool legacy = false;
  bool known = true;  // false: calls whose stream could not be read, which need not mean the same
  bool destroyed = false;
  Blocking blocking = Blocking::kUnknown;
  model::TimeNs last_submit = 0;  // before the attach: it may have work from then
  model::TimeNs last_action = 0;  // of the legacy stream: when something last joined the others
  std::map<model::Tid, Submits> by_thread;
  model::TimeNs proved_sure = 0, proved_likely = 0;
  std::uint64_t unproved = 0;  // submits since the last proof: at most so many are pending
  std::deque<std::pair<model::TimeNs, std::uint64_t>> recent;  // runs of submits: the end, how many
  Vector waits;                // what its later work waits for, beside its own
  model::TimeNs waits_at = 0;  // when that was last added to, by whom, and what for
  model::Tid waits_tid = 0;
  std::uint64_t waits_event = 0;
  // When it was made to wait for an event of which it is not known what it stands for.
  model::TimeNs waits_for_unknown = 0;
};

/// Streams take about so many launches; one that has this many may be holding a launch up.
constexpr std::uint64_t kFullQueue = 1000;
/// A call that submits returns within this, if its thread has a CPU and its stream is not full.
constexpr model::DurationNs kCallNs = 1'000'000;

/// Whether a call of another thread has had its effect.
enum class Settled : std::uint8_t { kSure, kLikely, kNo };

/// The work of one process, as its driver calls tell it in the order of time: streams, events and
/// what waits for what. Three rules make it sound:
///  - a proof covers what was entered before the proof was asked for, not what came until it
///    returned;
///  - a call by another thread may still have been on its way: it counts once that thread made
///    another call, is likely after kCallNs, and not before. What is found undone may be of such a
///    call: so far reaches `most`;
///  - a handle means what it was given to last: destroyed ones leave nothing to their successors.
class Work {
 public:
  /// `several`: the process uses more than one context, so that handles need theirs.
  /// `one`: with one handle or none, all threads are known to be in the same context. Calls are
  /// seen from `attach` on. `all` are the threads that call the driver at any time, `born` those
  /// that began to exist since the attach, and when.
  Work(bool several, bool one, model::TimeNs attach, const History& history,
       std::vector<model::Tid> all, const std::map<model::Tid, model::TimeNs>& born)
      : several_(several),
        one_(one),
        attach_(attach),
        history_(history),
        all_(std::move(all)),
        born_(born) {}

  void take_context(const wst_api& call);
  /// Returns the context.
  ContextId submit(const wst_api& call);
  void record_event(const wst_api& call);
  void wait_event(const wst_api& call);
  void create_stream(const wst_api& call);
  void destroy_stream(const wst_api& call);
  void destroy_event(const wst_api& call);
  /// A thread is at this call now: what it made before has returned.
  void see(const wst_api& call, model::TimeNs at);

  /// What a synchronise or a query that is entered at `at` covers. Nothing when its handle is not
  /// known.
  std::optional<Vector> covered_by(const wst_api& call, model::TimeNs at);

  /// Whether what was called before `since`, seen or not, had its effect when `asker` entered its
  /// call at `at`: every thread has made another one since, or did not exist by then.
  Settled all_settled(const wst_api& asker, model::TimeNs since, model::TimeNs at) const;
  /// Calls were lost: which contexts threads are in is no longer known.
  void forget_contexts();

  /// It is done.
  void prove(const Vector& done);
  /// All work of the context of this call's thread that was entered up to `at` is done, older work
  /// too; that of calls that were not seen as far as they are `settled`.
  void prove_context(const wst_api& call, const Vector& done, model::TimeNs at, Settled settled);
  /// The context is gone with all its work.
  void end_context(const wst_api& call);

  /// Something of this is not done: since when it has certainly been pending, which is the latest
  /// submit that it may be. 0: nothing of it was seen to be submitted.
  model::TimeNs pending_since(const Vector& vector) const;
  /// Whether all streams that the call can be about are known: a default one, or all of a context,
  /// needs the thread's context.
  bool knows_streams_of(const wst_api& call, const Vector& vector) const;
  /// The contexts that this is about.
  std::vector<ContextId> contexts_of(const Vector& vector) const;

  /// Whether all that was submitted to these contexts is proved done: kNotKnown when not.
  enum class Emptiness : std::uint8_t { kSure, kLikely, kNotKnown };
  /// Nothing is known of what was submitted before `unseen_until`, but for a context-wide proof.
  Emptiness emptiness(const std::vector<ContextId>& contexts, model::TimeNs unseen_until) const;

  /// The call's stream has no room: since when one of its submits has been queued that has half a
  /// queue behind it. 0: no queue can be full of what was seen and is not proved done.
  model::TimeNs queued_since(const wst_api& call);
  model::Tid last_submitter() const { return last_submitter_; }

 private:
  struct Event {
    Vector before;
    StreamId stream = 0;
    model::TimeNs at = 0;
    model::TimeNs looked = 0;  // by then it was recorded: what others submitted may be before it
    model::Tid tid = 0;
    // Until when two threads may have been recording it: which came last is not known.
    model::TimeNs in_doubt_until = 0;
  };
  struct Thread {
    ContextId context = 0;  // 0: not changed since the attach
    model::TimeNs last_call = 0;
  };
  using Key = std::pair<std::pair<ContextId, std::uint64_t>, model::Tid>;

  ContextId context_of(model::Tid tid) const;
  Key key_of(const wst_api& call) const;
  /// `own`: the call is only possible in the stream's context, which is the thread's.
  StreamId stream_of(const wst_api& call, bool own);
  Settled settled(model::Tid tid, model::TimeNs made, model::Tid asker, model::TimeNs at) const;
  Reach reach(const Stream& stream, model::Tid asker, model::TimeNs at) const;
  void add(Vector& to, const Vector& what, Settled how) const;
  void add_stream(Vector& to, StreamId id, model::Tid asker, model::TimeNs at) const;
  void add_joined(Vector& to, const Stream& stream, const Reach& own, model::TimeNs at) const;
  void add_most(Vector& to, StreamId id, model::TimeNs at) const;
  Vector before(const Event& event, model::TimeNs at) const;
  void was_recorded_again(const wst_api& call, const Vector& now);
  void forget_done();

  bool several_, one_;
  model::TimeNs attach_;
  const History& history_;
  std::vector<model::Tid> all_;
  const std::map<model::Tid, model::TimeNs>& born_;
  std::map<StreamId, Stream> streams_;
  std::map<Key, StreamId> by_handle_;
  StreamId next_stream_ = 0;
  std::map<std::uint64_t, Event> events_;
  std::map<model::Tid, Thread> threads_;
  std::map<ContextId, Reach> context_proved_;  // work from before the attach included
  ContextId unknown_contexts_ = 0;
  model::Tid last_submitter_ = 0;
  model::TimeNs last_unknown_submit_ = 0;  // to a stream that could not be read, or by an event
                                           // that is forgotten
  bool too_many_ = false;
};

}  // namespace whystall::evidence
