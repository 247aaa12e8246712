// Brings nginx's access log into the database: reads the folder's files as they grow, appends their
// lines with how far they are read in one transaction, removes what is finished. Owned by the
// daemon. Killed at any moment it loses no line and duplicates none. It never slows a request.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"
#include "runner/access_log/lock_file.h"
#include "runner/access_log/log_folder.h"

namespace hostler::runner {

struct AccessLogOptions {
  std::string host;    // this machine; of files from before their folder had an id
  std::string folder;  // access_log.dir
  std::string geoip_database;
  std::function<std::shared_ptr<const client::Gateway>()> gateway;  // of this moment
  int64_t quiet_ms = log_file_quiet_ms;  // what has not grown for so long is finished
};

// Key that no other file has, on any host. Names may be the same on all of them, and so may inodes
// and even the folder's id on disks that were copied. The time of birth then differs.
std::string log_file_key(const LockFile& lock, const std::string& host, const LogFile& file);

class AccessLogTailer {
 public:
  AccessLogTailer(loop::Loop& loop, postgres::Database& db, AccessLogOptions options);
  AccessLogTailer(const AccessLogTailer&) = delete;
  AccessLogTailer& operator=(const AccessLogTailer&) = delete;

  Task<void> run();
  int64_t lines() const { return lines_; }                  // brought in
  int64_t lines_skipped() const { return lines_skipped_; }  // of those: no row could be made
  // State at the last poll: rows that existed and could not be stored.
  int64_t unread_bytes() const { return unread_bytes_; }
  // How long ago a poll found everything read.
  int64_t lag_ms() const { return loop_.now_ms() - read_at_ms_; }

 private:
  Task<void> poll();
  Task<bool> read_on(const LogFile& file);
  void count(const std::string& path, const LogPiece& piece, const postgres::Row& written);

  loop::Loop& loop_;
  postgres::Database& db_;
  AccessLogOptions options_;
  std::shared_ptr<const GeoLookup> geo_;
  std::shared_ptr<LockFile> lock_;
  std::shared_ptr<QuietFiles> quiet_;
  std::unordered_map<std::string, int64_t> bytes_read_;  // by file, as the database has it
  int64_t lines_ = 0;
  int64_t lines_skipped_ = 0;
  int64_t unread_bytes_ = 0;
  int64_t read_at_ms_;
};

}  // namespace hostler::runner
