// Live delivery and what is kept for those behind; see sse-relay/subscription.h.
#include "sse-relay/subscription.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hostler::relay {

loop::SharedBytes bytes_of(const formats::SharedFrames& batch) { return {batch, &batch->frames()}; }

Subscription::Subscription(FollowedRun of, int64_t now_ms)
    : of_(std::move(of)), id_(uuid_bytes(of_.run_id)), updates_ms_(now_ms) {}

void Subscription::add(std::vector<Subscriber*>& subscribers, Subscriber& subscriber) {
  subscriber.slot_ = static_cast<uint32_t>(subscribers.size());
  subscribers.push_back(&subscriber);
}

void Subscription::remove(std::vector<Subscriber*>& subscribers, Subscriber& subscriber) {
  assert(subscribers[subscriber.slot_] == &subscriber);
  subscribers[subscriber.slot_] = subscribers.back();
  subscribers[subscriber.slot_]->slot_ = subscriber.slot_;
  subscribers.pop_back();
}

void Subscription::join(Subscriber& subscriber) {
  assert(subscriber.subscription_ == nullptr);
  subscriber.subscription_ = this;
  ++members_;
  add(behind_, subscriber);
}

void Subscription::leave(Subscriber& subscriber) {
  assert(subscriber.subscription_ == this);
  if (subscriber.phase_ == Phase::live) {
    remove(live_, subscriber);
  } else if (subscriber.phase_ != Phase::ending) {
    remove(behind_, subscriber);
    forget_if_unneeded();
  }
  subscriber.subscription_ = nullptr;
  --members_;
}

void Subscription::finish(Subscriber& subscriber) {
  if (subscriber.phase_ == Phase::live) {
    remove(live_, subscriber);
  } else {
    remove(behind_, subscriber);
    forget_if_unneeded();
  }
  subscriber.end();
}

void Subscription::set_behind(Subscriber& subscriber, formats::EncoderState state) {
  remove(live_, subscriber);
  add(behind_, subscriber);
  subscriber.phase_ = Phase::behind;
  subscriber.state_ = std::move(state);
}

void Subscription::set_live(Subscriber& subscriber) {
  assert(subscriber.cursor_ >= newest_seq_);
  remove(behind_, subscriber);
  forget_if_unneeded();
  if (live_.empty()) {
    live_seq_ = newest_seq_;
    state_ = subscriber.state_;
  }
  subscriber.state_.reset();
  add(live_, subscriber);
  subscriber.phase_ = Phase::live;
}

void Subscription::saw(int64_t seq) { newest_seq_ = std::max(newest_seq_, seq); }

void Subscription::go_back(int64_t seq) {
  live_seq_ = std::min(live_seq_, seq);
  newest_seq_ = std::min(newest_seq_, seq);
  forget_recent();
  for (std::vector<Subscriber*>* subscribers : {&live_, &behind_}) {
    for (Subscriber* subscriber : *subscribers) {
      subscriber->cursor_ = std::min(subscriber->cursor_, seq);
    }
  }
}

// A subscriber with a cursor beyond the stored events has seen lost ones, if a run.resumed has a
// lower number: it is for them too.
void Subscription::take_beyond(const events::EventBatch& batch) {
  int64_t resumed = batch.resumed_seq();
  if (resumed <= live_seq_) return;
  for (Subscriber* subscriber : live_) {
    if (subscriber->cursor_ > live_seq_) {
      subscriber->cursor_ = std::min(subscriber->cursor_, resumed - 1);
    }
  }
}

void Subscription::forget_recent() {
  recent_.reset();
  recent_bytes_ = 0;
}

void Subscription::forget_if_unneeded() {
  if (!behind_.empty()) return;
  behind_ = {};  // its memory, too
  forget_recent();
}

void Subscription::keep(const events::SharedBatch& events, formats::SharedFrames frames) {
  if (behind_.empty()) return;
  if (recent_ && !recent_->empty()) {
    int64_t kept_seq = recent_->back().events->last_seq();
    if (events->last_seq() <= kept_seq) return;
    if (events->first_seq() != kept_seq + 1) forget_recent();
  }
  if (!recent_) recent_ = std::make_unique<std::deque<Recent>>();
  recent_->push_back({events, std::move(frames)});
  recent_bytes_ += events->bytes();
  while (recent_bytes_ > pending_bytes_max) {
    recent_bytes_ -= recent_->front().events->bytes();
    recent_->pop_front();
  }
}

// The frames behind the subscriber's cursor, made once for all who are behind at the same event.
formats::SharedFrames Subscription::frames_for(const Subscriber& subscriber, Recent& recent) {
  if (recent.frames && recent.frames->first_seq() <= subscriber.cursor_ + 1) return recent.frames;
  auto frames = std::make_shared<const formats::FrameBatch>(subscriber.state_, *recent.events,
                                                            subscriber.cursor_);
  if (frames->first_seq() == recent.events->first_seq()) recent.frames = frames;
  return frames;
}

// Sends the batch, or the part of it that is new to the subscriber. Nothing: there is no room.
Subscription::Given Subscription::give(Subscriber& subscriber, const formats::SharedFrames& batch,
                                       int64_t now_ms) {
  if (batch->last_seq() > subscriber.cursor_) {
    loop::SharedBytes frames =
        subscriber.cursor_ < batch->first_seq()
            ? bytes_of(batch)
            : std::make_shared<const std::string>(batch->frames_after(subscriber.cursor_));
    size_t pending = subscriber.pending_bytes();
    if (pending > 0 && pending + frames->size() > pending_bytes_max) return Given::nothing;
    if (!frames->empty()) subscriber.send_frames(frames, batch->status(), now_ms);
    subscriber.cursor_ = batch->last_seq();
  }
  if (batch->is_final()) finish(subscriber);
  return Given::all;
}

bool Subscription::gather(events::SharedBatch batch) {
  gathered_.push_back(std::move(batch));
  return gathered_.size() == 1;
}

// Consecutive batches are joined, so that each subscriber is written to once.
std::vector<events::SharedBatch> Subscription::take_gathered() {
  std::vector<events::SharedBatch> batches = std::exchange(gathered_, {});
  if (batches.size() == 1) return batches;
  std::vector<events::SharedBatch> out;
  for (size_t begin = 0; begin < batches.size();) {
    size_t bytes = batches[begin]->bytes();
    size_t end = begin + 1;
    for (; end < batches.size(); ++end) {
      if (batches[end]->first_seq() != batches[end - 1]->last_seq() + 1) break;
      if (bytes + batches[end]->bytes() > pending_bytes_max) break;
      bytes += batches[end]->bytes();
    }
    if (end == begin + 1) {
      out.push_back(std::move(batches[begin]));
    } else {
      auto whole = std::make_shared<events::EventBatch>(run_id());
      whole->reserve(bytes);
      for (size_t i = begin; i < end; ++i) whole->append(*batches[i]);
      out.push_back(std::move(whole));
    }
    begin = end;
  }
  return out;
}

bool Subscription::wake(int64_t now_ms) {
  updates_ms_ = now_ms;
  has_pending_wake_ = !has_live();
  return !has_pending_wake_ && set_read_due();
}

bool Subscription::set_read_due() { return !std::exchange(is_read_due_, true); }

bool Subscription::begin_read() {
  is_read_due_ = false;
  return has_live();
}

bool Subscription::deliver(const events::SharedBatch& batch, Source source, int64_t now_ms) {
  updates_ms_ = now_ms;
  saw(batch->last_seq());
  bool is_new = !live_.empty() && batch->last_seq() > live_seq_;
  // Only the table has the usage of the run.
  bool lacks_usage = source == Source::bus && format().tells_usage && batch->ends_run();
  bool is_behind_gap = source == Source::bus && batch->first_seq() > live_seq_ + 1;
  bool has_gap = is_new && (is_behind_gap || lacks_usage);
  formats::SharedFrames frames;
  if (is_new && !has_gap) {
    take_beyond(*batch);
    frames = std::make_shared<const formats::FrameBatch>(state_, *batch, live_seq_);
    formats::EncoderState before = std::exchange(state_, frames->state());
    live_seq_ = batch->last_seq();
    // Backwards, because a subscriber that leaves the list is replaced by one that was served
    // already.
    for (size_t i = live_.size(); i-- > 0;) {
      Subscriber& subscriber = *live_[i];
      if (give(subscriber, frames, now_ms) == Given::nothing) set_behind(subscriber, before);
    }
  }
  if (!lacks_usage) keep(batch, std::move(frames));
  return !has_gap;
}

Subscription::Served Subscription::serve(Subscriber& subscriber, int64_t now_ms) {
  if (subscriber.cursor_ < newest_seq_) {
    bool is_kept = recent_ && !recent_->empty() &&
                   recent_->front().events->first_seq() <= subscriber.cursor_ + 1;
    if (!is_kept) return Served::needs_table;
    for (Recent& recent : *recent_) {
      if (recent.events->last_seq() <= subscriber.cursor_) continue;
      formats::SharedFrames frames = frames_for(subscriber, recent);
      if (give(subscriber, frames, now_ms) == Given::nothing) return Served::done;
      // Ending the last one that is behind forgot what was kept.
      if (subscriber.phase_ == Phase::ending) return Served::done;
      subscriber.state_ = frames->state();
    }
    if (subscriber.cursor_ < newest_seq_) return Served::needs_table;
  }
  set_live(subscriber);
  return Served::done;
}

}  // namespace hostler::relay
