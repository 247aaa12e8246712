// One connection from nginx and what the relay knows of it. Owned by the relay; its run's channel
// and the wheel point to it. While a stream is live there is no coroutine: this is all it costs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "lib/address_guard.h"
#include "lib/ids.h"
#include "lib/loop/stream.h"
#include "lib/loop/task.h"
#include "sse-relay/scgi_request.h"
#include "sse-relay/stream_request.h"

namespace hostler::relay {

struct Client;
class RunChannel;

//   reading ──► opening ──► behind ◄──► live
//      └───────────┴──────────┴──────────┴──► ending
enum class Phase : uint8_t {
  reading,  // the request is on its way
  opening,  // the database is asked who this is, and for the first events
  behind,   // the stream is open, newer events have to be read or written
  live,     // has everything; gets new events as they come
  ending,   // what is written is the last of it
};

// What happens to a client's connection, told to the relay. closed() destroys the client.
class ClientEvents {
 public:
  virtual void arrived(Client& client, std::string_view bytes) = 0;
  virtual void drained(Client& client) = 0;
  virtual void closed(Client& client) = 0;

 protected:
  ~ClientEvents() = default;
};

// What is only needed until the stream is open.
struct Arrival {
  ScgiReader reader;
  AnswerContext context;
  StreamRequest request;
};

struct Client final : StreamOwner {
  Client(std::unique_ptr<Stream> accepted, ClientEvents& told)
      : events(told), stream(std::move(accepted)), arrival(std::make_unique<Arrival>()) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void on_bytes(std::string_view bytes) override { events.arrived(*this, bytes); }
  void on_drained() override { events.drained(*this); }
  void on_closed() override { events.closed(*this); }

  // Everything goes through here, so that silence and standstill can be told.
  void send(std::span<const SharedBytes> buffers, int64_t now_ms) {
    bool was_clear = stream->pending_bytes() == 0;
    for (const SharedBytes& buffer : buffers) sent_bytes += buffer->size();
    stream->send(buffers);
    sent_ms = now_ms;
    if (was_clear) stands_since_ms = now_ms;
  }
  void send(std::string text, int64_t now_ms) {
    SharedBytes bytes = std::make_shared<const std::string>(std::move(text));
    send({&bytes, 1}, now_ms);
  }
  // Nothing follows. Of a client in a channel only the channel calls this: RunChannel::finish.
  void end() {
    phase = Phase::ending;
    stream->end();
  }
  // No task brings it on. One that has ended is freed a turn later.
  bool is_resting() const { return !task || task.done(); }

  ClientEvents& events;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arrival> arrival;
  RunChannel* channel = nullptr;

  int64_t cursor = 0;   // the last event that was sent, or that the client said it has
  int64_t sent_ms = 0;  // when something was last sent; at first, when it came
  uint64_t sent_bytes = 0;
  uint64_t written_bytes = 0;   // of these, as of the last look
  int64_t stands_since_ms = 0;  // when that last grew

  // Who follows, for the check that they still may: a session's or a key's id, the other all zero.
  UuidBytes session_id{};
  UuidBytes api_key_id{};
  UuidBytes org_id{};
  IpAddress address;

  // Places in the lists that point here.
  uint32_t slot = 0;
  uint32_t channel_slot = 0;
  uint32_t wheel_slot = 0;
  uint8_t wheel_bucket = 0;

  Phase phase = Phase::reading;
  bool follows = true;      // false: wants what is there, then the end
  bool is_page_due = true;  // the table may hold more than what was read
  bool is_counted = false;  // among the open streams
  bool is_settled = false;  // its task has ended and waits to be freed

  Task<void> task;  // what brings it on; destroyed first, since it looks at the rest
};

}  // namespace hostler::relay
