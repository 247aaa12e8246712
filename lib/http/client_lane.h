// One curl multi handle on the loop, with its own cache of connections. For the HTTP client's own
// files only. Callbacks of curl mark transfers ready; they are woken after curl has returned, so a
// coroutine may end any transfer, its own too, and begin new ones.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/loop/loop.h"

namespace hostler::http {

struct LaneTransfer;

class HttpLane {
 public:
  HttpLane(loop::Loop& loop, long idle_connections_max);
  ~HttpLane();
  HttpLane(const HttpLane&) = delete;
  HttpLane& operator=(const HttpLane&) = delete;

  void add(CURL* easy);
  void remove(CURL* easy);
  void mark_ready(LaneTransfer& transfer);
  void forget(LaneTransfer& transfer);
  // Reads what the socket of a transfer had that was not reading; it looks itself what became of
  // it. Others that are ready by then are woken from the loop: they may end the one that calls.
  void read_held(LaneTransfer& transfer);

 private:
  struct Socket;
  struct Callbacks;

  void drive(curl_socket_t socket, int ready);
  void act(curl_socket_t socket, int ready);
  void collect_ended();
  void wake_ready();
  void socket_ready(curl_socket_t socket, bool readable, bool writable);
  void watch_socket(CURL* easy, curl_socket_t socket, int wanted);
  bool hold(Socket& entry, curl_socket_t socket);

  loop::Loop& loop_;
  CURLM* multi_;
  loop::Timer timer_;
  loop::Timer wake_timer_;
  std::unordered_map<curl_socket_t, std::unique_ptr<Socket>> sockets_;
  std::vector<LaneTransfer*> ready_;
};

}  // namespace hostler::http
