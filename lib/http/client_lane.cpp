// curl_multi_socket_action fed by FdWatch and Timer. See lib/http/client_lane.h.
#include "lib/http/client_lane.h"

#include <locale.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "lib/http/client.h"

namespace hostler::http {
namespace {

// curl turns host names in other scripts into ASCII (IDNA) only when the thread's locale says that
// they are UTF-8. In force around calls of curl, on this thread, for letters alone.
class Utf8Letters {
 public:
  Utf8Letters() : before_(uselocale(utf8())) {}
  ~Utf8Letters() { uselocale(before_); }
  Utf8Letters(const Utf8Letters&) = delete;
  Utf8Letters& operator=(const Utf8Letters&) = delete;

 private:
  static locale_t utf8() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;  // null, where there is no such locale, changes nothing
  }
  locale_t before_;
};

LaneTransfer* transfer_of(CURL* easy) {
  char* transfer = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
  return reinterpret_cast<LaneTransfer*>(transfer);
}

}  // namespace

struct HttpLane::Socket {
  Socket(HttpLane& lane, curl_socket_t socket)
      : watch(lane.loop_, socket, [&lane, socket](bool readable, bool writable) {
          lane.socket_ready(socket, readable, writable);
        }) {}
  void rewatch() { watch.watch((wanted & CURL_POLL_IN) != 0, (wanted & CURL_POLL_OUT) != 0); }

  int wanted = 0;                    // CURL_POLL_…
  LaneTransfer* transfer = nullptr;  // whose it is now
  bool is_held = false;              // not watched: its transfer reads later
  loop::FdWatch watch;
};

struct HttpLane::Callbacks {
  static int socket(CURL* easy, curl_socket_t socket, int wanted, void* lane, void*) noexcept {
    static_cast<HttpLane*>(lane)->watch_socket(easy, socket, wanted);
    return 0;
  }
  static int timer(CURLM*, long delay_ms, void* lane) noexcept {
    loop::Timer& timer = static_cast<HttpLane*>(lane)->timer_;
    if (delay_ms < 0) {
      timer.cancel();
    } else {
      timer.restart(delay_ms);
    }
    return 0;
  }
};

HttpLane::HttpLane(loop::Loop& loop, long idle_connections_max)
    : loop_(loop),
      multi_(curl_multi_init()),
      timer_(loop, [this] { drive(CURL_SOCKET_TIMEOUT, 0); }),
      wake_timer_(loop, [this] { wake_ready(); }) {
  assert(multi_ != nullptr);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, Callbacks::socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, Callbacks::timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, idle_connections_max);
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
}

HttpLane::~HttpLane() {
  assert(ready_.empty());
  curl_multi_cleanup(multi_);  // closes idle connections through our socket callback
}

void HttpLane::add(CURL* easy) {
  CURLMcode added = curl_multi_add_handle(multi_, easy);
  assert(added == CURLM_OK);
  static_cast<void>(added);
}

void HttpLane::remove(CURL* easy) { curl_multi_remove_handle(multi_, easy); }

void HttpLane::mark_ready(LaneTransfer& transfer) {
  if (transfer.is_ready) return;
  transfer.is_ready = true;
  ready_.push_back(&transfer);
}

void HttpLane::forget(LaneTransfer& transfer) {
  if (!transfer.is_ready) return;
  transfer.is_ready = false;
  ready_.erase(std::find(ready_.begin(), ready_.end(), &transfer));
}

void HttpLane::drive(curl_socket_t socket, int ready) {
  act(socket, ready);
  wake_ready();
}

void HttpLane::act(curl_socket_t socket, int ready) {
  int running = 0;
  {
    Utf8Letters letters;
    curl_multi_socket_action(multi_, socket, ready, &running);
  }
  collect_ended();
}

void HttpLane::collect_ended() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURLcode code = message->data.result;
    LaneTransfer& transfer = *transfer_of(message->easy_handle);
    transfer.hop_ended(code);
    mark_ready(transfer);
  }
}

void HttpLane::wake_ready() {
  while (!ready_.empty()) {
    LaneTransfer& transfer = *ready_.front();
    forget(transfer);
    transfer.wake();  // may end it, and any other
  }
}

void HttpLane::socket_ready(curl_socket_t socket, bool readable, bool writable) {
  auto found = sockets_.find(socket);
  if (found != sockets_.end() && hold(*found->second, socket)) return;
  drive(socket, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0));
  // An error on the descriptor reports both and stops the watch; curl may still want it.
  if (!readable || !writable) return;
  found = sockets_.find(socket);
  if (found != sockets_.end() && !found->second->is_held) found->second->rewatch();
}

bool HttpLane::hold(Socket& entry, curl_socket_t socket) {
  bool writes = (entry.wanted & CURL_POLL_OUT) != 0;
  if (writes || entry.transfer == nullptr || entry.transfer->is_reading()) return false;
  entry.is_held = true;
  entry.transfer->held_socket = socket;
  entry.watch.watch(false, false);
  return true;
}

void HttpLane::read_held(LaneTransfer& transfer) {
  curl_socket_t socket = std::exchange(transfer.held_socket, -1);
  auto found = sockets_.find(socket);
  if (found == sockets_.end()) return;
  Socket& entry = *found->second;
  // Its number may be another one's by now.
  if (!entry.is_held || entry.transfer != &transfer) return;
  entry.is_held = false;
  entry.rewatch();
  act(socket, CURL_CSELECT_IN);
  forget(transfer);
  if (!ready_.empty()) wake_timer_.restart(0);
}

void HttpLane::watch_socket(CURL* easy, curl_socket_t socket, int wanted) {
  if (wanted == CURL_POLL_REMOVE) {
    sockets_.erase(socket);
    return;
  }
  std::unique_ptr<Socket>& entry = sockets_[socket];
  if (!entry) entry = std::make_unique<Socket>(*this, socket);
  entry->wanted = wanted;
  LaneTransfer* transfer = transfer_of(easy);
  if (entry->transfer != transfer || (wanted & CURL_POLL_OUT) != 0) entry->is_held = false;
  entry->transfer = transfer;
  if (!entry->is_held) entry->rewatch();
}

}  // namespace hostler::http
