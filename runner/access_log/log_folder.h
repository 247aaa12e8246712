// The folder where nginx leaves its access log: a file a second, access-TIME.json, a line a request
// each. All of it may wait for the disk, so it is called on the thread pool. It writes no file.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/client/gateway.h"
#include "runner/access_log/geo_lookup.h"

namespace hostler::runner {

struct LogFile {
  std::string path;
  uint64_t inode = 0;
  int64_t born_ns = 0;  // wall clock; 0: the file system does not say
  int64_t bytes = 0;
  bool is_finished = false;  // no worker of nginx will write to it again: see QuietFiles
};

// Whole lines of a file as the entries of one statement.
struct LogPiece {
  int64_t bytes_to = 0;  // behind the last line that was read; as asked when there is none
  int lines = 0;
  int unreadable = 0;
  std::string entries;  // a JSON array
};

// Everything needed to understand a line, for a piece of work on another thread.
struct LogReaders {
  std::shared_ptr<const client::Gateway> gateway;
  std::shared_ptr<const GeoLookup> geo;
};

// If a host has several daemons, the one that has this lock file reads the folder.
inline std::string lock_of_folder(const std::string& folder) { return folder + "/.tail.lock"; }

// In the order of their names, which is that of time unless the wall clock was stepped.
std::vector<LogFile> list_log_files(const std::string& folder);
LogPiece read_log_piece(const std::string& path, int64_t bytes_from, const LogReaders& readers);
// Not one that grew, or is another one, since it was listed: false.
bool remove_log_file(const LogFile& file);

// nginx takes the name from the second in which a request ended, and keeps a file open for five
// seconds at most; a worker that is held up for ten between name and write is no more.
constexpr int64_t log_file_quiet_ms = 10'000;

// How long each file has been seen as it is, by a clock that nobody steps: by the wall clock, which
// also stamps the files, one that nginx writes may look old, and one that it left be of tomorrow.
class QuietFiles {
 public:
  explicit QuietFiles(int64_t quiet_ms) : quiet_ms_(quiet_ms) {}
  // Sets is_finished of each; now_ms: steady. Forgets files that are not listed any more.
  void mark(std::vector<LogFile>& files, int64_t now_ms);

 private:
  struct Seen {
    uint64_t inode = 0;
    int64_t bytes = 0;
    int64_t since_ms = 0;
  };
  int64_t quiet_ms_;
  std::unordered_map<std::string, Seen> seen_;  // by path
};

// Maximum that may wait for the database. Beyond it the oldest files are not read, and the log
// reports it. A flood while Postgres is away must not fill the disk that nginx and Postgres may
// share.
constexpr int64_t backlog_bytes_max = int64_t{1} << 30;
// Takes those that are removed out of the files too; answers how many bytes they had.
int64_t drop_backlog(std::vector<LogFile>& files, int64_t bytes_max);

}  // namespace hostler::runner
