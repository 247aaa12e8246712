// One call of the pool carried to the network: what it wants is read, checked, dialled; then bytes
// pass both ways and nobody looks into them (TLS is between the pool and the far end). Owned by
// runner/egress/egress_proxy.h.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "runner/egress/dial.h"
#include "runner/egress/socks_request.h"

namespace hostler::runner {

enum class Admission { admitted, refused, unknown };  // unknown: the settings cannot be read

// Outcomes of calls: carried to their destination; refused, because no setting names it; unready,
// because the settings cannot be read now; unreachable at the destination; broken, not a request.
enum class EgressResult { carried, refused, unready, unreachable, broken };

class Tunnel {
 public:
  struct Owner {
    std::function<Task<Admission>(SocksTarget)> check;
    // Once a call, except for one that went away before it asked for anything.
    std::function<void(EgressResult)> count;
    // The owner destroys the tunnel later, never from within this call.
    std::function<void(Tunnel*)> ended;
  };
  // owner outlives the tunnel.
  Tunnel(loop::Loop& loop, OwnedFd client, const Owner& owner);
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

  // Whether somebody waits for an answer: false for a connection that is only kept for a next call.
  bool is_awaited() const;

  static constexpr int64_t request_limit_ms = 5'000;
  static constexpr int64_t connect_limit_ms = 20'000;
  // Maximum silence: a little longer than a call of ours waits.
  static constexpr int64_t idle_limit_ms = 65'000;
  // Each way. A verification is some kilobytes, a test mail less than that.
  static constexpr int64_t bytes_max = int64_t{16} << 20;

 private:
  enum class Phase { request, opening, open, ended };
  struct Flow {
    int from = -1;
    int to = -1;
    std::array<char, size_t{16} << 10> buffer{};
    size_t begin = 0;
    size_t end = 0;
    int64_t bytes = 0;
    bool source_ended = false;
    bool sink_shut = false;

    bool is_empty() const { return begin == end; }
    bool wants_to_read() const { return is_empty() && !source_ended; }
  };

  void read_request();
  Task<void> open();
  Task<SocksReply> reach(SocksTarget target);
  SocksReply refuse(const SocksTarget& target, bool is_known) const;
  void on_limit();
  void send_bytes(std::string_view bytes);
  void begin_flow();
  void carry();
  bool pump(Flow& flow);
  void end();

  loop::Loop& loop_;
  const Owner& owner_;
  Phase phase_ = Phase::request;
  OwnedFd client_;
  OwnedFd far_;
  SocksReader reader_;
  bool is_greeted_ = false;
  bool client_spoke_last_ = true;
  Flow out_;
  Flow in_;
  loop::Timer limit_;
  std::unique_ptr<loop::FdWatch> client_watch_;
  std::unique_ptr<loop::FdWatch> far_watch_;
  Task<void> opening_;  // last: looks at all above
};

}  // namespace hostler::runner
