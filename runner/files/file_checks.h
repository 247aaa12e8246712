// Has uploaded files checked by hostler-files, and stores what that derived from them
// (sql/schema/file_checks.sql). Any daemon takes any file, creators in turns. Hears by NOTIFY that
// one waits; a poll finds it anyway. Built by the daemon.
#pragma once

#include <string>

#include "lib/config/settings.h"
#include "lib/files/check_client.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"

namespace hostler::runner {

class FileChecks {
 public:
  // start: the settings that never change.
  FileChecks(loop::Loop& loop, postgres::Database& db, const config::Settings& start);

  // Put it into the daemon's task set once.
  Task<void> check_forever();
  // One may wait.
  void look();

 private:
  struct Claimed {
    std::string file_id;
    std::string mime_type;
    int64_t bytes = 0;
    int64_t number = 0;  // of this check
  };
  Task<void> claim();
  Task<void> check(Claimed file);
  Task<std::string> next_piece(const Claimed& file, int64_t& nth);
  postgres::BoundStatement outcome_statement(const Claimed& file, files::CheckOutcome outcome);

  loop::Loop& loop_;
  postgres::Database& db_;
  std::string socket_;
  size_t checks_max_;
  loop::Signal notified_;
  bool again_ = true;
  bool is_away_logged_ = false;
  // The creator whose file was taken last.
  std::string after_org_;
  std::string after_user_;
  loop::TaskSet checks_;  // last: its coroutines use all of the above
};

}  // namespace hostler::runner
