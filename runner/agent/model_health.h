// Outcomes of attempts at models, for their circuit breakers. The breakers themselves are rows of
// the database (sql/schema/fallbacks.sql), because all daemons share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"

namespace hostler::runner {

class ModelHealth {
 public:
  ModelHealth(loop::Loop& loop, postgres::Database& db) : loop_(loop), db_(db) {}

  enum class Outcome { answered, failed };
  // An attempt of a run of the organization ended. Attempts that the provider refused (4xx) count
  // neither way. is_probe: the run tries a model that is left out.
  void note(const std::string& model_id, const std::string& org_id, Outcome outcome,
            bool is_probe = false);

  // Reports failures at once. Successes are reported only of models of which some attempts failed
  // lately, here or at another daemon: all others cost the database nothing but a look each second.
  Task<void> report_forever();

 private:
  struct Counts {
    int64_t attempts = 0;
    int64_t failed = 0;
    int64_t newest_failed = 0;  // since the last success
  };
  using Key = std::pair<std::string, std::string>;  // model, organization
  struct Slice {
    int64_t begun_ms = 0;
    std::map<Key, Counts> counts;
  };
  static constexpr int64_t slice_ms = 5000;
  static constexpr int64_t kept_ms = 60'000;
  static constexpr int64_t look_ms = 1000;
  // A slice counts so many models. Attempts at further ones are not counted.
  static constexpr size_t keys_max = 10'000;
  static constexpr size_t looked_at_max = 1000;

  void drop_old();
  Task<void> look_for_suspects();
  postgres::Batch report_of_suspects();

  loop::Loop& loop_;
  postgres::Database& db_;
  std::deque<Slice> slices_;        // not reported, oldest first
  std::set<std::string> suspects_;  // models whose successes count, as of the last look
  std::set<std::string> urgent_;    // models that failed or were tried since the last report
  int64_t looked_ms_ = 0;
  loop::Signal noted_;
};

}  // namespace hostler::runner
