// See runner/egress/egress_proxy.h.
#include "runner/egress/egress_proxy.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/log.h"
#include "lib/loop/wait.h"
#include "lib/mail/mail_settings.h"
#include "lib/net/unix_listener.h"
#include "lib/program/service_notify.h"
#include "queries/outbox.h"
#include "runner/egress/destinations.h"

namespace hostler::runner {
namespace {

constexpr int64_t open_retry_ms = 1'000;
constexpr int64_t accept_pause_ms = 100;
constexpr int64_t close_look_ms = 20;

}  // namespace

EgressProxy::EgressProxy(EgressServices services, std::string path)
    : services_(std::move(services)),
      path_(std::move(path)),
      accept_timer_(services_.loop, [this] { accept_some(); }) {
  owner_.check = [this](SocksTarget target) { return check(std::move(target)); };
  owner_.count = services_.count;
  owner_.ended = [this](Tunnel* tunnel) { forget(tunnel); };
}

EgressProxy::~EgressProxy() {
  tunnels_.clear();
  watch_.reset();
  if (is_own_) unlink(path_.c_str());
}

Task<void> EgressProxy::open_when_free() {
  while (!try_to_open() && !is_closed_) co_await loop::sleep_ms(services_.loop, open_retry_ms);
}

bool EgressProxy::try_to_open() {
  OwnedFd found(program::handed_listener("outbound"));
  if (!found) {
    if (path_.empty()) return true;
    std::string fault;
    found = OwnedFd(net::try_listen_unix(path_, 0660, fault));
    is_own_ = static_cast<bool>(found);
    if (!found && fault != logged_fault_) log_warning("egress_shut", {{"cause", fault}});
    logged_fault_ = fault;
  }
  if (!found) return false;
  listening_ = std::move(found);
  watch_ = std::make_unique<loop::FdWatch>(services_.loop, listening_.get(),
                                           [this](bool, bool) { accept_some(); });
  watch_->watch(true, false);
  log_info("egress_open", {{"socket", is_own_ ? path_ : "given"}});
  return true;
}

void EgressProxy::accept_some() {
  if (is_closed_) return;
  watch_->watch(true, false);
  while (tunnels_.size() < tunnels_max) {
    OwnedFd client(accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
      // Out of descriptors, most likely: trying at once would only spin.
      log_warning("egress_accept_failed", {{"cause", std::strerror(errno)}});
      watch_->watch(false, false);
      accept_timer_.restart(accept_pause_ms);
      return;
    }
    tunnels_.push_back(std::make_unique<Tunnel>(services_.loop, std::move(client), owner_));
  }
  watch_->watch(false, false);  // until one ends
}

// Freed on the next turn, never from inside its own callback.
void EgressProxy::forget(Tunnel* tunnel) {
  auto found = std::find_if(tunnels_.begin(), tunnels_.end(),
                            [tunnel](const auto& owned) { return owned.get() == tunnel; });
  if (found == tunnels_.end()) return;
  std::shared_ptr<Tunnel> dying = std::move(*found);
  tunnels_.erase(found);
  services_.loop.defer([dying] {});
  if (watch_) accept_timer_.restart(0);
}

bool EgressProxy::is_destination(const SocksTarget& target) const {
  return std::find(destinations_.begin(), destinations_.end(), target) != destinations_.end();
}

// A destination that is not listed is looked up again before it is refused, because an
// administrator may have added it a moment ago and now tries it.
Task<Admission> EgressProxy::check(SocksTarget target) {
  bool is_known = true;
  if (!destinations_known_ || !is_destination(target)) is_known = co_await read_destinations();
  if (is_destination(target)) co_return Admission::admitted;
  co_return is_known ? Admission::refused : Admission::unknown;
}

// False, and nothing changed, when the database does not answer.
Task<bool> EgressProxy::read_destinations() {
  destinations_known_ = true;  // a change while they are read makes it false again
  co_await services_.settings.read();
  postgres::Batch batch;
  batch.add(query::EmailConfigLoad{});
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  if (outcome.error) {
    destinations_known_ = false;
    co_return false;
  }
  mail::MailSettings mail =
      mail::mail_settings(*services_.settings.current(), outcome.results.at(0), services_.secrets);
  destinations_ = egress_destinations(*services_.settings.current(), mail);
  co_return true;
}

Task<void> EgressProxy::close_listener(int64_t limit_ms) {
  is_closed_ = true;
  accept_timer_.cancel();
  watch_.reset();
  if (std::exchange(is_own_, false)) unlink(path_.c_str());
  listening_ = OwnedFd();
  int64_t due_ms = services_.loop.now_ms() + limit_ms;
  auto is_awaited = [](const auto& tunnel) { return tunnel->is_awaited(); };
  while (services_.loop.now_ms() < due_ms &&
         std::any_of(tunnels_.begin(), tunnels_.end(), is_awaited)) {
    co_await loop::sleep_ms(services_.loop, close_look_ms);
  }
}

}  // namespace hostler::runner
