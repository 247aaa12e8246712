// A line between a client and a server (Postgres, HTTP, anything) that breaks where a test says:
// behind the commit but before its answer, in the middle of a head, one way only. Passes bytes on
// as they are otherwise; it never answers for either side.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace hostler::testing_support {

enum class LineEnd { client, server };

enum class FaultKind {
  cut,        // both ends are closed, orderly
  reset,      // both ends are closed by RST (TCP)
  half_open,  // nothing moves any more, both stay open
  swallow,    // what this end sends from here on is lost, the other is still heard
  delay,      // goes on delay_ms later
  trickle,    // goes on byte by byte, each delay_ms behind the one before
};

// Happens once, to the first connection that fits.
struct ProxyFault {
  FaultKind kind = FaultKind::cut;
  LineEnd sender = LineEnd::server;
  std::string at = {};  // where these bytes begin; empty: at whatever the sender says next
  size_t passing = 0;   // so many bytes from there on still come through: the rest is truncated
  int delay_ms = 0;
};

// How Postgres says that a transaction is committed, and how a client of libpq asks for it.
std::string committed_answer();
std::string commit_request();

class FaultyProxy {
 public:
  // server: "host:port" of an IPv4 address, or the path of a unix socket. The line listens in the
  // same family: on 127.0.0.1, or in a folder of its own under the same file name.
  explicit FaultyProxy(std::string server);
  ~FaultyProxy();
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;

  int port() const { return port_; }
  const std::string& folder() const { return folder_; }

  void arm(ProxyFault fault);
  void disarm();            // what is armed and has not happened
  int faults() const;       // that happened
  bool wait_for(int count)  // faults, at most 20 s
      const;
  void cut_all();                 // every connection there is
  void refuse(bool is_refusing);  // new connections are closed at once
  int connections() const;        // that were ever taken

 private:
  struct Way;
  struct Link;
  void run();
  void accept_one();
  void read_from(Link& link, Way& way);
  void take(Link& link, Way& way, std::string_view bytes);
  void happen(Link& link, Way& way, std::string_view rest);
  static void write_to(Link& link, Way& way);
  void wake() const;

  std::string server_;
  std::string folder_;
  int port_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::list<ProxyFault> armed_;
  std::list<std::unique_ptr<Link>> links_;
  bool is_refusing_ = false;
  bool is_ending_ = false;
  int faults_ = 0;
  int connections_ = 0;
  std::thread thread_;
};

}  // namespace hostler::testing_support
