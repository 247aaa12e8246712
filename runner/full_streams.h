// Reports to the database who has as many streams open at this daemon as may be, so that the API
// can refuse a call that a stream answers before its run exists (sql/schema/stream_limits.sql). Run
// by the daemon; the stream server, which counts, never waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler::runner {

class FullStreams {
 public:
  // holders: who is full since so long, as query::FullStreamsKeep takes them.
  FullStreams(loop::Loop& loop, postgres::Database& db, std::string daemon_id,
              std::function<std::string(int64_t for_ms)> holders)
      : loop_(loop), db_(db), daemon_id_(std::move(daemon_id)), holders_(std::move(holders)) {}

  // Changed rows, at most once a second, and sometimes unchanged ones, because another daemon may
  // have taken this one for dead and removed its rows.
  Task<void> report_forever();

 private:
  Task<void> report();

  loop::Loop& loop_;
  postgres::Database& db_;
  const std::string daemon_id_;
  const std::function<std::string(int64_t for_ms)> holders_;
  std::string reported_ = nobody;  // empty: nobody knows
  int64_t reported_ms_ = 0;

  static constexpr const char* nobody = "[]";
};

}  // namespace hostler::runner
