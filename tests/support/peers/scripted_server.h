// A tiny TCP peer for unit tests: each connection runs the test's script on a thread of its own,
// with blocking reads and writes. It knows nothing of HTTP but where a request ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hostler::testing_support {

// One connection, as the script sees it. Every call is harmless after the peer has gone.
class Peer {
 public:
  Peer(int fd, int number) : fd_(fd), number_(number) {}
  // Head and body (by Content-Length) of the next request; empty when the peer has gone.
  std::string read_request();
  bool send(std::string_view bytes);
  // 200 with this body.
  bool answer(std::string_view body, std::string_view more_fields = {});
  // Returns when the client has closed its side.
  void wait_for_close();
  // Waits so long, or until the client sends something or goes.
  void pause(int milliseconds);
  void reset();                           // closes so that the peer sees a reset
  int number() const { return number_; }  // of the connection, from 1

 private:
  int fd_;
  int number_;
  std::string pending_;
};

class ScriptedServer {
 public:
  explicit ScriptedServer(std::function<void(Peer&)> script, std::string address = "127.0.0.1");
  ~ScriptedServer();  // closes all connections and joins
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int port() const { return port_; }
  std::string url(std::string_view path = "/") const;
  int connections() const { return connections_; }
  // Waits until that many connections have been closed by their clients or ended by the script.
  bool wait_for_ended(int count);

 private:
  void accept_all();
  void serve(int fd, int number);
  std::function<void(Peer&)> script_;
  std::string address_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;
  std::vector<int> open_;
  std::vector<std::thread> peers_;
  std::thread acceptor_;
};

// A listening socket that nobody must touch.
class Canary {
 public:
  explicit Canary(std::string address = "127.0.0.1");
  ~Canary();
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;
  int port() const { return port_; }
  bool is_listening() const { return listener_ >= 0; }  // false when the machine lacks the address
  bool was_touched();

 private:
  int port_ = 0;  // before the listener, which sets it
  int listener_;
};

}  // namespace hostler::testing_support
