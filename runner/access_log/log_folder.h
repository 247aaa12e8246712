// The folder where nginx leaves its access log: a file a second, access-TIME.json, a line a request
// each. All of it may wait for the disk, so it is called on the thread pool. It writes no file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/client/gateway.h"
#include "runner/access_log/geo_lookup.h"

namespace hostler::runner {

struct LogFile {
  std::string path;
  uint64_t inode = 0;
  int64_t born_ns = 0;  // wall clock; 0: the file system does not say
  int64_t bytes = 0;
  bool is_finished = false;  // its time is over: no worker of nginx will write to it again
};

// Whole lines of a file as the entries of one statement.
struct LogPiece {
  int64_t bytes_to = 0;  // behind the last line that was read; as asked when there is none
  int lines = 0;
  int unreadable = 0;
  std::string entries;  // a JSON array
};

// What it takes to understand a line, for a piece of work on another thread.
struct LogReaders {
  std::shared_ptr<const client::Gateway> gateway;
  std::shared_ptr<const GeoLookup> geo;
};

// Of several daemons on a host the one that has this lock file reads the folder.
inline std::string lock_of_folder(const std::string& folder) { return folder + "/.tail.lock"; }

// In the order of time.
std::vector<LogFile> list_log_files(const std::string& folder);
LogPiece read_log_piece(const std::string& path, int64_t bytes_from, const LogReaders& readers);
void remove_log_file(const std::string& path);

// What may wait for the database: beyond it the oldest files go unread, told in the log. A flood
// while Postgres is away must not fill the disk that nginx and Postgres may share.
constexpr int64_t backlog_bytes_max = int64_t{1} << 30;
// Takes those that are removed out of the files too; answers how many bytes they had.
int64_t drop_backlog(std::vector<LogFile>& files, int64_t bytes_max);

}  // namespace hostler::runner
