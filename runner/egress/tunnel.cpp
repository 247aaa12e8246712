// See runner/egress/tunnel.h.
#include "runner/egress/tunnel.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "lib/log.h"
#include "lib/net/name_lookup.h"

namespace hostler::runner {
namespace {

constexpr size_t addresses_tried_max = 4;
constexpr int64_t look_up_limit_ms = 5'000;
constexpr int64_t dial_limit_ms = 5'000;
// So that one fast flow leaves the loop to the others.
constexpr int rounds_a_turn = 16;

SocksReply reply_of(int cause) {
  if (cause == ECONNREFUSED) return SocksReply::refused;
  return cause == ENETUNREACH ? SocksReply::network_unreachable : SocksReply::host_unreachable;
}

}  // namespace

Tunnel::Tunnel(loop::Loop& loop, OwnedFd client, const Owner& owner)
    : loop_(loop),
      owner_(owner),
      client_(std::move(client)),
      limit_(loop, [this] { on_limit(); }),
      client_watch_(std::make_unique<loop::FdWatch>(loop, client_.get(), [this](bool, bool) {
        phase_ == Phase::request ? read_request() : carry();
      })) {
  client_watch_->watch(true, false);
  limit_.restart(request_limit_ms);
}

bool Tunnel::is_awaited() const {
  return phase_ < Phase::open || (phase_ == Phase::open && client_spoke_last_);
}

void Tunnel::read_request() {
  std::array<char, 512> bytes;
  ssize_t count = recv(client_.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    end();
    return;
  }
  SocksReader::State state = reader_.take({bytes.data(), static_cast<size_t>(count)});
  if (reader_.has_greeted() && !std::exchange(is_greeted_, true)) {
    send_bytes(SocksReader::greeting_answer);
  }
  if (state == SocksReader::State::broken) {
    owner_.count(EgressResult::broken);
    log_warning("egress_broken", {{"cause", reader_.fault()}});
    send_bytes(reader_.last_words());
    end();
  } else if (state == SocksReader::State::whole) {
    phase_ = Phase::opening;
    client_watch_->watch(false, false);
    limit_.restart(connect_limit_ms);
    opening_ = open();
    opening_.start(nullptr);
  }
}

// Some bytes into a socket that holds none: they are taken at once, or the client is gone.
void Tunnel::send_bytes(std::string_view bytes) {
  static_cast<void>(send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

Task<void> Tunnel::open() {
  SocksTarget target = reader_.target();
  Admission admission = co_await owner_.check(target);
  SocksReply reply = SocksReply::failed;
  if (admission == Admission::admitted) {
    reply = co_await reach(target);
    bool is_there = reply == SocksReply::succeeded;
    owner_.count(is_there ? EgressResult::carried : EgressResult::unreachable);
  } else {
    reply = refuse(target, admission == Admission::refused);
  }
  send_bytes(socks_reply(reply));
  if (reply == SocksReply::succeeded) {
    begin_flow();
  } else {
    end();
  }
}

// is_known: where calls may lead; else the settings could not be read.
SocksReply Tunnel::refuse(const SocksTarget& target, bool is_known) const {
  owner_.count(is_known ? EgressResult::refused : EgressResult::unready);
  const char* why = is_known ? "it is neither captcha.verify_url nor the mail server"
                             : "the settings cannot be read now";
  log_warning("egress_refused", {{"address", target.text()}, {"why", why}});
  return is_known ? SocksReply::not_allowed : SocksReply::failed;
}

Task<SocksReply> Tunnel::reach(SocksTarget target) {
  std::vector<net::IpAddress> addresses;
  if (std::optional<net::IpAddress> literal = net::IpAddress::parse(target.host)) {
    addresses.push_back(*literal);
  } else {
    addresses = co_await net::look_up_name(loop_, target.host, look_up_limit_ms);
  }
  std::string cause = "the name has no address";
  SocksReply reply = SocksReply::host_unreachable;
  for (size_t i = 0; i < addresses.size() && i < addresses_tried_max; ++i) {
    Dialled dialled = co_await dial(loop_, addresses[i], target.port, dial_limit_ms);
    if (dialled.fd) {
      far_ = std::move(dialled.fd);
      co_return SocksReply::succeeded;
    }
    reply = reply_of(dialled.cause);
    cause = addresses[i].text() + ": " + std::strerror(dialled.cause);
  }
  log_warning("egress_unreachable", {{"address", target.text()}, {"cause", cause}});
  co_return reply;
}

void Tunnel::begin_flow() {
  if (phase_ == Phase::ended) return;  // the limit passed meanwhile
  phase_ = Phase::open;
  out_.from = in_.to = client_.get();
  out_.to = in_.from = far_.get();
  far_watch_ = std::make_unique<loop::FdWatch>(loop_, far_.get(), [this](bool, bool) { carry(); });
  carry();
}

void Tunnel::carry() {
  if (phase_ != Phase::open) return;
  if (!pump(out_) || !pump(in_) || (out_.sink_shut && in_.sink_shut)) {
    end();
    return;
  }
  client_watch_->watch(out_.wants_to_read(), !in_.is_empty());
  far_watch_->watch(in_.wants_to_read(), !out_.is_empty());
  limit_.restart(idle_limit_ms);
}

// False when the tunnel is to end.
bool Tunnel::pump(Flow& flow) {
  for (int round = 0; round < rounds_a_turn; ++round) {
    if (flow.is_empty()) {
      if (flow.source_ended) {
        if (!std::exchange(flow.sink_shut, true)) shutdown(flow.to, SHUT_WR);
        return true;
      }
      ssize_t count = recv(flow.from, flow.buffer.data(), flow.buffer.size(), 0);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      if (count == 0) {
        flow.source_ended = true;
        continue;
      }
      flow.begin = 0;
      flow.end = static_cast<size_t>(count);
      flow.bytes += count;
      client_spoke_last_ = &flow == &out_;
      if (flow.bytes > bytes_max) {
        log_warning("egress_too_large", {{"address", reader_.target().text()}});
        return false;
      }
    }
    ssize_t sent =
        send(flow.to, flow.buffer.data() + flow.begin, flow.end - flow.begin, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    flow.begin += static_cast<size_t>(sent);
  }
  return true;
}

// Silence ends a call that was carried, as it ends a connection that asked for nothing.
void Tunnel::on_limit() {
  if (phase_ == Phase::opening) owner_.count(EgressResult::unreachable);
  end();
}

void Tunnel::end() {
  if (std::exchange(phase_, Phase::ended) == Phase::ended) return;
  limit_.cancel();
  client_watch_->watch(false, false);
  if (far_watch_) far_watch_->watch(false, false);
  owner_.ended(this);
}

}  // namespace hostler::runner
