// An event stream as its subscription sees it: how far it is, and the writing to it. While it is
// live there is no coroutine: this is all it costs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lib/formats/encoder.h"
#include "lib/formats/frame_batch.h"
#include "lib/loop/stream.h"

namespace hostler::relay {

class Subscription;

//   reading ──► opening ──► behind ◄──► live
//      └───────────┴──────────┴──────────┴──► ending
enum class Phase : uint8_t {
  reading,  // the request is on its way
  opening,  // the database is asked who this is, and for the first events
  behind,   // the stream is open, newer events have to be read or written
  live,     // has everything; gets new events as they come
  ending,   // what is written is the last of it
};

class Subscriber {
 public:
  explicit Subscriber(loop::Stream stream) : stream_(std::move(stream)) {}
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  Phase phase() const { return phase_; }
  bool is_open() const { return phase_ == Phase::behind || phase_ == Phase::live; }
  // The last event that was sent, or that the client said it has.
  int64_t cursor() const { return cursor_; }
  Subscription* subscription() const { return subscription_; }

  // All output goes through here, so that silence and standstill are noticed.
  void send(std::span<const loop::SharedBytes> buffers, int64_t now_ms) {
    bool was_clear = stream_.pending_bytes() == 0;
    for (const loop::SharedBytes& buffer : buffers) {
      sent_bytes_ += static_cast<uint32_t>(buffer->size());
    }
    stream_.send(buffers);
    sent_ms_ = now_ms;
    if (was_clear) stands_since_ms_ = now_ms;
  }
  void send(const loop::SharedBytes& bytes, int64_t now_ms) { send({&bytes, 1}, now_ms); }
  void send(std::string text, int64_t now_ms) {
    send(std::make_shared<const std::string>(std::move(text)), now_ms);
  }
  // Frames of the run. In an answer that is held back they are its body, and end it.
  void send_frames(const loop::SharedBytes& frames, formats::HeldStatus status, int64_t now_ms);
  bool is_held() const { return held_fields_ != nullptr; }
  size_t pending_bytes() const { return stream_.pending_bytes(); }
  // Bytes kept for it alone until it has read more.
  size_t unread_bytes() const { return pending_bytes() + (state_ ? state_->kept_bytes() : 0); }

 protected:
  ~Subscriber() = default;

  void begin_reading(loop::StreamOwner& owner, int64_t now_ms) {
    sent_ms_ = now_ms;
    stream_.start(owner);
  }
  void begin_opening() { phase_ = Phase::opening; }
  // From the cursor on, behind which the state is.
  void begin_stream(int64_t cursor, formats::EncoderState state) {
    phase_ = Phase::behind;
    go_on(cursor, std::move(state));
  }
  // For one that is not live: it has everything up to the cursor.
  void go_on(int64_t cursor, formats::EncoderState state) {
    cursor_ = cursor;
    state_ = std::move(state);
  }
  // The head waits for the body, and these fields of it too.
  void hold_back(std::string fields) {
    held_fields_ = std::make_unique<const std::string>(std::move(fields));
  }
  const std::string& held_fields() const { return *held_fields_; }
  // For one that is not live: the encoder's state after the cursor.
  const formats::EncoderState& state() const { return state_; }
  // No event follows. With a subscription only that calls this: Subscription::finish.
  void end() {
    phase_ = Phase::ending;
    stream_.end();
  }
  int64_t sent_ms() const { return sent_ms_; }
  // Since when nothing of what is pending was written; notes how much is by now.
  int64_t stands_since(int64_t now_ms) {
    uint32_t written = sent_bytes_ - static_cast<uint32_t>(pending_bytes());
    if (std::exchange(written_bytes_, written) != written) stands_since_ms_ = now_ms;
    return stands_since_ms_;
  }

 private:
  friend class Subscription;

  loop::Stream stream_;
  Subscription* subscription_ = nullptr;
  int64_t cursor_ = 0;
  formats::EncoderState state_;  // while live, the subscription has it
  std::unique_ptr<const std::string> held_fields_;
  int64_t sent_ms_ = 0;          // when something was last sent; at first, when it came
  uint32_t sent_bytes_ = 0;      // both modulo 2^32: only whether they change is asked
  uint32_t written_bytes_ = 0;   // of these, as of the last look
  int64_t stands_since_ms_ = 0;  // when that last grew
  uint32_t slot_ = 0;            // in the subscription's list
  Phase phase_ = Phase::reading;
};

}  // namespace hostler::relay
