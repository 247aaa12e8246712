// One client of the stream server, from its connection to its end: its request, the way into its
// stream and back into it after it fell behind; stored events first, then live ones, none missing,
// none twice.
//
// The rule that makes it simple: the table is the truth, the bus only wakes. Subscribe, then read
// what is stored, then go on with what came meanwhile, dropping what is not newer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/error.h"
#include "lib/formats/formats.h"
#include "lib/ids.h"
#include "lib/loop/loop.h"
#include "lib/loop/stream.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"
#include "lib/postgres/denial_log.h"
#include "sse-relay/event_pages.h"
#include "sse-relay/open_streams.h"
#include "sse-relay/scgi_request.h"
#include "sse-relay/semaphore.h"
#include "sse-relay/stream_options.h"
#include "sse-relay/stream_request.h"
#include "sse-relay/subscriber.h"
#include "sse-relay/subscriptions.h"
#include "sse-relay/timer_wheel.h"

namespace hostler::relay {

class StreamClient;
struct StreamOpening;

using Origins = std::shared_ptr<const std::vector<std::string>>;

// The server as one client sees it: what it answers, and what the client reports to it.
class StreamHost {
 public:
  virtual bool is_crowded() const = 0;  // no further stream is allowed
  // Whether so much may wait for a client that perhaps does not read; it is counted then.
  virtual bool has_room_for(size_t unread_bytes) = 0;
  virtual Origins cors_origins() const = 0;
  virtual std::shared_ptr<const client::Gateway> gateway() const = 0;  // null: nobody said yet
  virtual int64_t retry_ms() = 0;                                      // with jitter
  virtual int64_t age_max_ms() = 0;                                    // with jitter

  virtual void opened() = 0;   // may read the run, the head is next
  virtual void refused() = 0;  // answered with a problem document
  virtual void cut_off() = 0;  // it did not read
  virtual void stalled() = 0;  // its next page is out of reach: resume() is called later
  // Its task has ended: free_task() is called from outside of it. Told once until then.
  virtual void rested(StreamClient& client) = 0;
  virtual void gone(StreamClient& client) = 0;  // destroys it

 protected:
  ~StreamHost() = default;
};

// Services that all clients share.
struct StreamServices {
  const StreamOptions& options;
  loop::Loop& loop;
  postgres::Database& db;
  Subscriptions& subscriptions;
  Semaphore& semaphore;  // before questions for one client
  TimerWheel& wheel;
  postgres::DenialLog& denials;
  OpenStreams& open_streams;
  StreamHost& host;
  loop::SharedBytes ping = std::make_shared<const std::string>(": ping\n\n");
};

class StreamClient final : public Subscriber, public TimerWheel::Entry, loop::StreamOwner {
 public:
  StreamClient(loop::Stream accepted, StreamServices& services)
      : Subscriber(std::move(accepted)),
        services_(services),
        arrival_(std::make_unique<Arrival>()) {}
  ~StreamClient();

  void start();
  // Its timer is due: a ping, or the end of a stream that nobody reads. May destroy the client.
  void look();
  // Goes on after it stalled. False: it did not.
  bool resume();
  // Its session, membership or thread is gone, or the server goes.
  void end_early();
  // The server leaves: a retry line is the last of it. May be the end of it.
  void drain();
  void free_task();
  bool is_to_be_freed() const { return is_to_be_freed_; }

  const StreamReader& reader() const { return reader_; }
  bool is_counted() const { return is_counted_; }  // among the open streams

  // Its index in the server's list.
  uint32_t index() const { return index_; }
  void set_index(uint32_t index) { index_ = index; }

 private:
  // State that is only needed until the stream is open.
  struct Arrival {
    ScgiReader reader;
    AnswerContext context;
    StreamRequest request;
  };

  void on_bytes(std::string_view bytes) override;
  void on_drained() override;
  void on_closed() override { services_.host.gone(*this); }

  void choose_format();
  void join(int64_t behind_frame);
  // Its clients do so by themselves.
  bool comes_back() const { return format_->delivery == formats::Delivery::resumable; }
  void begin_task();
  // No task brings it on. One that has ended is freed a turn later.
  bool is_resting() const { return !task_ || task_.done(); }
  Task<void> advance();
  Task<void> open();
  Task<void> catch_up();
  void take_fault(const Error& fault);
  void refuse(Error error);
  Task<bool> go_back_to_resumed(std::shared_ptr<void> kept);
  void take_caller(const account::Caller& caller);
  void answer_no_more();
  void answer_head(const StreamOpening& opening);
  std::string head_text(bool is_over) const;
  void end_with_retry();
  void finish_early();
  std::string run_to_tell() const;
  void send_page(std::vector<loop::SharedBytes> buffers, const EventPage& page);
  int64_t now_ms() const { return services_.loop.now_ms(); }

  StreamServices& services_;
  const formats::Format* format_ = &formats::native_format();
  std::unique_ptr<Arrival> arrival_;
  StreamReader reader_;
  // When an open stream has been open long enough; what is given once ends with its run.
  int64_t ends_ms_ = INT64_MAX;
  uint32_t index_ = 0;
  bool follows_ = true;      // false: wants what is there, then the end
  bool is_page_due_ = true;  // the table may hold more than what was read
  bool is_counted_ = false;
  bool is_to_be_freed_ = false;
  Task<void> task_;  // what brings it on; destroyed first, since it looks at the rest
};

}  // namespace hostler::relay
