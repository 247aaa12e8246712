// One run followed in one format from one frame on: who follows it so, and what is on its way to
// them. Live subscribers get the shared bytes of new events at once, without a coroutine; those
// that are behind find what they missed here, if it is still kept, or in the table.
//
//   live_seq_    every live subscriber has all up to here (or said that it has)
//   newest_seq_  all up to here is committed, as far as this side knows; never below live_seq_
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/events/event_batch.h"
#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"
#include "lib/ids.h"
#include "lib/loop/stream.h"
#include "sse-relay/subscriber.h"

namespace hostler::relay {

// The batch's frames as they are sent: not copied, the batch lives as long as they do.
loop::SharedBytes bytes_of(const formats::SharedFrames& batch);

// The subject of a subscription: it may be gone when this is looked at again.
struct FollowedRun {
  std::string run_id;
  const formats::Format* format;
  int64_t behind_frame = 0;  // what begin_behind() leaves out

  bool operator==(const FollowedRun&) const = default;
};

class Subscription {
 public:
  Subscription(FollowedRun of, int64_t now_ms);
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  const FollowedRun& of() const { return of_; }
  const std::string& run_id() const { return of_.run_id; }
  const UuidBytes& id() const { return id_; }
  const formats::Format& format() const { return *of_.format; }
  bool is_empty() const { return members_ == 0; }
  bool has_live() const { return !live_.empty(); }
  int64_t live_seq() const { return live_seq_; }
  int64_t newest_seq() const { return newest_seq_; }

  // A new subscriber is behind.
  void join(Subscriber& subscriber);
  void leave(Subscriber& subscriber);

  // Gathers events of one turn, which are then delivered together. True: it is the first.
  bool gather(events::SharedBatch batch);
  std::vector<events::SharedBatch> take_gathered();
  // New events, in the order of their coming. From the bus there may be a gap, when something was
  // lost on the way, or something missing that the format tells: then nothing is sent, and false
  // says that the table must be read.
  enum class Source { bus, table };
  bool deliver(const events::SharedBatch& batch, Source source, int64_t now_ms);

  // All up to seq is known to be committed.
  void saw(int64_t seq);
  // The server has no more than that: what was sent of the run beyond it is lost (contract section
  // 4, Streams). Subscribers go on from there.
  void go_back(int64_t seq);

  // The table may have something new. True: it has to be read, and was not due before. While nobody
  // is live, no subscriber needs it, and the next one that gets live looks for it.
  bool wake(int64_t now_ms);
  bool has_pending_wake() const { return has_pending_wake_; }
  bool has_been_idle(int64_t idle_ms, int64_t now_ms) const {
    return now_ms - updates_ms_ >= idle_ms;
  }
  // True: it was not due before.
  bool set_read_due();
  // It is being read. False: nobody is live any more.
  bool begin_read();

  // Gives a subscriber that is behind what is kept here. needs_table: something in between is not.
  // Otherwise it is live now, or ending, or goes on when it has drained.
  enum class Served { done, needs_table };
  Served serve(Subscriber& subscriber, int64_t now_ms);

  // This subscriber gets nothing after the sent events.
  void finish(Subscriber& subscriber);

  // At most this much waits for a subscriber that does not read; more is dropped and read again.
  static constexpr size_t pending_bytes_max = 64 << 10;

 private:
  enum class Given { all, nothing };
  // Kept part of the run: its events, and their frames once somebody needed them.
  struct Recent {
    events::SharedBatch events;
    formats::SharedFrames frames;
  };
  Given give(Subscriber& subscriber, const formats::SharedFrames& batch, int64_t now_ms);
  void keep(const events::SharedBatch& events, formats::SharedFrames frames);
  static formats::SharedFrames frames_for(const Subscriber& subscriber, Recent& recent);
  void forget_recent();
  void forget_if_unneeded();
  void take_beyond(const events::EventBatch& batch);
  void set_behind(Subscriber& subscriber, formats::EncoderState state);
  void set_live(Subscriber& subscriber);
  static void remove(std::vector<Subscriber*>& subscribers, Subscriber& subscriber);
  static void add(std::vector<Subscriber*>& subscribers, Subscriber& subscriber);

  FollowedRun of_;
  UuidBytes id_;
  std::vector<Subscriber*> live_;
  std::vector<Subscriber*> behind_;
  size_t members_ = 0;  // with those that are ending
  int64_t live_seq_ = 0;
  formats::EncoderState state_;  // behind live_seq_; of no meaning while nobody is live
  int64_t newest_seq_ = 0;
  std::vector<events::SharedBatch> gathered_;
  // Consecutive; kept while somebody is behind. Null: nothing, as of most runs, and an empty deque
  // takes more than all else here.
  std::unique_ptr<std::deque<Recent>> recent_;
  size_t recent_bytes_ = 0;
  int64_t updates_ms_;        // when something was last heard of the run, or looked for
  bool is_read_due_ = false;  // among the runs whose new events are to be read
  bool has_pending_wake_ = false;
};

}  // namespace hostler::relay
