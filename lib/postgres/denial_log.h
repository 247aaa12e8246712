// Denied attempts on their way to the audit log: gathered by who was denied what, and written
// behind the answers. They outlive an absence of Postgres: what may have been written is sent again
// under the same number, and counts once. One for each worker of the pool and for the relay; no
// answer waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"

namespace hostler::postgres {

struct Denial {
  std::string org_id;        // empty: nobody knows whose
  std::string user_id;       // likewise
  std::string api_key_hash;  // SHA-256, of a caller who showed a key
  std::string route;         // method and pattern of the path: what is counted together
  std::string code;
  std::string target;  // as it was asked for; told of the first of a minute, as the rest
  std::string trace_id;
  std::string client_ip;
  std::string user_agent;
};

struct DenialLogOptions {
  size_t kinds_max = 4096;  // of caller, route and code; about 1 KiB each
  int64_t pause_ms = 1000;  // until more of what was written is added to it
  int64_t retry_ms = 500;
  int64_t kept_ms = 300'000;  // what could not be written for so long is given up
};

class DenialLog {
 public:
  // database outlives this. on_dropped hears of denials that are given up; how many they were
  // stands in the audit log when Postgres is back.
  DenialLog(loop::Loop& loop, Database& database, std::function<void(int64_t)> on_dropped,
            DenialLogOptions options = {});
  ~DenialLog();
  DenialLog(const DenialLog&) = delete;
  DenialLog& operator=(const DenialLog&) = delete;

  void add(Denial denial);
  // From now on everything is written at once. Calls on_written, from the loop, whenever all is.
  void finish(std::function<void()> on_written);
  bool is_written() const;

 private:
  struct Kind {
    Denial first;  // of those that are counted
    int64_t count = 0;
    int64_t since_ms = 0;  // when the first came
    int64_t due_ms = 0;    // not written sooner
    int failures = 0;      // Postgres refused it: it is written alone
  };
  using Kinds = std::unordered_map<std::string, Kind>;
  struct Sent {
    std::string key;
    Kind kind;
  };

  Task<void> write_forever();
  Task<void> write(std::vector<Sent> batch);
  std::vector<Sent> take_due();
  void give_back(std::vector<Sent> batch);
  void finish(const std::vector<Sent>& batch, int64_t dropped);
  std::string json_of(const std::vector<Sent>& batch) const;
  bool make_room();
  void drop(int64_t count);

  loop::Loop& loop_;
  Database& database_;
  std::function<void(int64_t)> on_dropped_;
  std::function<void()> on_written_;
  DenialLogOptions options_;
  std::string writer_id_;
  int64_t number_ = 1;     // of the batch that is written next
  int64_t dropped_ = 0;    // and not told yet
  int64_t in_flight_ = 0;  // denials of the batch that is being written
  bool is_finishing_ = false;
  Kinds kinds_;
  loop::Signal due_;
  loop::Timer next_;
  Task<void> writer_;  // first to go: looks at everything above
};

}  // namespace hostler::postgres
