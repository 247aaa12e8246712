// The stack that `make up` starts, in a folder and on a port of its own, with its own Postgres: for
// system tests, which kill its parts. Started once a test program; stopped at its end.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/clients/client.h"
#include "tests/support/clients/event_stream.h"

namespace hostler::testing_support {

class PrivateStack {
 public:
  explicit PrivateStack(int nodes = 1);  // daemons; with more than one there are two pools
  ~PrivateStack();
  PrivateStack(const PrivateStack&) = delete;
  PrivateStack& operator=(const PrivateStack&) = delete;
  static PrivateStack& shared();

  // Starts again what died; reads the processes' numbers again.
  void up();
  // A value of var/env.
  const std::string& env(const std::string& name) const { return env_.at(name); }
  pid_t pid(const std::string& name) const;                // the first, of several
  std::vector<pid_t> pids(const std::string& name) const;  // all
  Client client() { return Client(*line_); }
  // Stops Postgres at once, as a crash would, and starts it again.
  void restart_postgres();

  struct User {
    Client client;
    std::string thread_id;
  };
  // Somebody new, with a thread that holds the message.
  User new_user(const std::string& message);
  std::string start_run(const User& user);

 private:
  void read_env();
  std::vector<std::string> environment() const;
  std::string folder_;
  int port_;
  int nodes_;
  std::map<std::string, std::string> env_;
  std::unique_ptr<Line> line_;
};

// Follows a run on a connection of its own until the server ends it, or until events_max came.
// Blocks; may be called from several threads.
EventStream read_stream(const PrivateStack& stack, const std::string& run_id,
                        const std::string& token, int64_t after_seq = 0, int events_max = 0);
// The same by that many subscribers at once, on connections of their own, from the first event on.
std::vector<EventStream> read_streams(const PrivateStack& stack, const std::string& run_id,
                                      const std::string& token, size_t subscribers);

// Reads until the terminal event, coming back after every break with the last number seen.
EventStream read_whole_stream(const PrivateStack& stack, const std::string& run_id,
                              const std::string& token, int events_per_connection = 0);

}  // namespace hostler::testing_support
