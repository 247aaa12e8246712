// The polls of the folder; see runner/access_log/tailer.h.
#include "runner/access_log/tailer.h"

#include <fmt/format.h>

#include "lib/log.h"
#include "lib/loop/wait.h"
#include "queries/access_log.h"

namespace hostler::runner {
namespace {

constexpr int64_t poll_every_ms = 300;
constexpr int64_t pause_after_fault_ms = 500;

}  // namespace

AccessLogTailer::AccessLogTailer(loop::Loop& loop, postgres::Database& db, AccessLogOptions options)
    : loop_(loop),
      db_(db),
      options_(std::move(options)),
      geo_(std::make_shared<const GeoLookup>(options_.geoip_database)),
      lock_(std::make_shared<LockFile>(lock_of_folder(options_.folder))),
      quiet_(std::make_shared<QuietFiles>(options_.quiet_ms)),
      read_at_ms_(loop.now_ms()) {}

std::string log_file_key(const LockFile& lock, const std::string& host, const LogFile& file) {
  // A file that is older than the folder's id was begun under the host's name.
  bool is_older = file.born_ns > 0 && file.born_ns < lock.id_created_ns();
  if (is_older) return fmt::format("{}:{}#{}", host, file.path, file.inode);
  return fmt::format("{}:{}#{}@{}", lock.id(), file.path, file.inode, file.born_ns);
}

Task<void> AccessLogTailer::run() {
  for (;;) {
    co_await poll();
    co_await loop::sleep_ms(loop_, poll_every_ms);
  }
}

Task<void> AccessLogTailer::poll() {
  std::shared_ptr<LockFile> lock = lock_;
  std::shared_ptr<QuietFiles> quiet = quiet_;
  std::string folder = options_.folder;
  int64_t now_ms = loop_.now_ms();
  std::function<std::vector<LogFile>()> list = [lock, quiet, folder, now_ms] {
    std::vector<LogFile> found;
    if (lock->take()) found = list_log_files(folder);
    quiet->mark(found, now_ms);
    drop_backlog(found, backlog_bytes_max);
    return found;
  };
  std::vector<LogFile> files = co_await loop::on_thread(loop_, std::move(list));
  std::unordered_map<std::string, int64_t> still_there;
  int64_t unread_bytes = 0;
  for (const LogFile& file : files) {
    bool is_read = co_await read_on(file);
    std::string key = log_file_key(*lock_, options_.host, file);
    if (!is_read) unread_bytes += file.bytes - bytes_read_[key];
    bool is_removed = false;
    if (is_read && file.is_finished) {
      std::function<bool()> remove = [file] { return remove_log_file(file); };
      is_removed = co_await loop::on_thread(loop_, std::move(remove));
    }
    if (!is_removed) still_there[key] = bytes_read_[key];
  }
  bytes_read_ = std::move(still_there);
  unread_bytes_ = unread_bytes;
  if (unread_bytes == 0) read_at_ms_ = loop_.now_ms();
}

// To the end of its last whole line. False when the database did not take it.
Task<bool> AccessLogTailer::read_on(const LogFile& file) {
  std::string key = log_file_key(*lock_, options_.host, file);
  while (bytes_read_[key] < file.bytes) {
    int64_t from = bytes_read_[key];
    std::string path = file.path;
    LogReaders readers{options_.gateway(), geo_};
    std::function<LogPiece()> read = [path, from, readers] {
      return read_log_piece(path, from, readers);
    };
    LogPiece piece = co_await loop::on_thread(loop_, std::move(read));
    if (piece.bytes_to == from) break;
    postgres::Batch batch;
    batch.add(query::AccessLogAppend{
        .file = key, .bytes_from = from, .bytes_to = piece.bytes_to, .entries = piece.entries});
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (outcome.error) {
      log_warning("access_log_not_written", {{"cause", outcome.error->cause}});
      co_await loop::sleep_ms(loop_, pause_after_fault_ms);
      co_return false;
    }
    bytes_read_[key] = outcome.results.at(0).front().integer("bytes_read");
    count(path, piece, outcome.results.at(0).front());
  }
  co_return true;
}

void AccessLogTailer::count(const std::string& path, const LogPiece& piece,
                            const postgres::Row& written) {
  int64_t refused = written.integer("skipped");
  lines_ += piece.lines;
  lines_skipped_ += refused + piece.unreadable;
  if (piece.unreadable > 0) {
    log_warning("access_log_lines_unreadable",
                {{"path", path}, {"lines", std::to_string(piece.unreadable)}});
  }
  if (refused > 0) {
    log_warning("access_log_lines_skipped", {{"path", path},
                                             {"lines", std::to_string(refused)},
                                             {"first", std::string(written.text("bad_entry"))},
                                             {"cause", std::string(written.text("reason"))}});
  }
}

}  // namespace hostler::runner
