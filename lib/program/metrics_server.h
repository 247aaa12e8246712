// Answers Prometheus on a Unix socket: every GET gets the text, one request a connection. For the
// mains of services; the socket's mode says who may ask, nothing else does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/loop/loop.h"

namespace hostler::program {

class MetricsServer {
 public:
  // Takes the listening socket over. text is asked at each request.
  MetricsServer(loop::Loop& loop, int listen_fd, std::function<std::string()> text);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  static constexpr size_t connections_max = 16;  // more wait in the backlog
  static constexpr int64_t connection_limit_ms = 2'000;
  static constexpr int64_t accept_pause_ms = 1'000;  // while this process has no descriptor left
  static constexpr size_t request_bytes_max = 8'192;

 private:
  class Connection;
  void accept_some();
  void forget(Connection* connection);

  loop::Loop& loop_;
  int listen_fd_;
  std::function<std::string()> text_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unique_ptr<loop::FdWatch> watch_;
  loop::Timer again_;
};

}  // namespace hostler::program
