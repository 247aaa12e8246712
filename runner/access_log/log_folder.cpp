// Files listed, read and removed; see runner/access_log/log_folder.h.
#include "runner/access_log/log_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "lib/log.h"
#include "runner/access_log/log_line.h"

namespace hostler::runner {
namespace {

constexpr size_t piece_bytes_max = 512 << 10;
constexpr size_t files_max = 100'000;

bool is_log_name(std::string_view name) {
  return name.starts_with("access-") && name.ends_with(".json");
}

std::string bytes_at(const std::string& path, int64_t offset) {
  std::string bytes;
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return bytes;
  bytes.resize(piece_bytes_max);
  ssize_t got = pread(fd, bytes.data(), bytes.size(), offset);
  close(fd);
  bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return bytes;
}

}  // namespace

std::vector<LogFile> list_log_files(const std::string& folder) {
  std::vector<LogFile> files;
  DIR* open_folder = opendir(folder.c_str());
  if (open_folder == nullptr) return files;
  while (const dirent* entry = readdir(open_folder)) {
    if (!is_log_name(entry->d_name) || files.size() >= files_max) continue;
    LogFile file;
    file.path = fmt::format("{}/{}", folder, entry->d_name);
    struct statx found {};
    int failed = statx(AT_FDCWD, file.path.c_str(), AT_SYMLINK_NOFOLLOW,
                       STATX_BASIC_STATS | STATX_BTIME, &found);
    if (failed != 0 || !S_ISREG(found.stx_mode)) continue;
    file.inode = found.stx_ino;
    file.bytes = static_cast<int64_t>(found.stx_size);
    if ((found.stx_mask & STATX_BTIME) != 0) {
      file.born_ns = found.stx_btime.tv_sec * 1'000'000'000 + found.stx_btime.tv_nsec;
    }
    files.push_back(std::move(file));
  }
  closedir(open_folder);
  std::sort(files.begin(), files.end(),
            [](const LogFile& a, const LogFile& b) { return a.path < b.path; });
  return files;
}

LogPiece read_log_piece(const std::string& path, int64_t bytes_from, const LogReaders& readers) {
  std::string bytes = bytes_at(path, bytes_from);
  LogPiece piece;
  piece.bytes_to = bytes_from;
  JsonWriter entries;
  entries.begin_array();
  std::string_view rest = bytes;
  // A last line without its end is still being written.
  for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    ++piece.lines;
    if (!write_log_entry(rest.substr(0, end), *readers.gateway, *readers.geo, entries)) {
      ++piece.unreadable;
    }
    rest.remove_prefix(end + 1);
    piece.bytes_to += static_cast<int64_t>(end) + 1;
  }
  // Longer than any line of nginx's: not ours, and not to be stumbled over for ever.
  bool is_endless = piece.lines == 0 && bytes.size() == piece_bytes_max;
  if (is_endless) {
    piece.lines = piece.unreadable = 1;
    piece.bytes_to += static_cast<int64_t>(bytes.size());
  }
  entries.end_array();
  piece.entries = entries.take();
  return piece;
}

bool remove_log_file(const LogFile& file) {
  struct stat found {};
  if (lstat(file.path.c_str(), &found) != 0) return errno == ENOENT;
  if (found.st_ino != file.inode || found.st_size != file.bytes) return false;
  if (unlink(file.path.c_str()) == 0 || errno == ENOENT) return true;
  log_warning("access_log_not_removed", {{"path", file.path}, {"cause", std::strerror(errno)}});
  return false;
}

void QuietFiles::mark(std::vector<LogFile>& files, int64_t now_ms) {
  std::unordered_map<std::string, Seen> seen;
  for (LogFile& file : files) {
    auto before = seen_.find(file.path);
    bool is_same = before != seen_.end() && before->second.inode == file.inode &&
                   before->second.bytes == file.bytes;
    int64_t since_ms = is_same ? before->second.since_ms : now_ms;
    file.is_finished = now_ms - since_ms >= quiet_ms_;
    seen[file.path] = {file.inode, file.bytes, since_ms};
  }
  seen_ = std::move(seen);
}

int64_t drop_backlog(std::vector<LogFile>& files, int64_t bytes_max) {
  int64_t bytes = 0;
  for (const LogFile& file : files) bytes += file.bytes;
  int64_t dropped = 0;
  size_t count = 0;
  while (bytes - dropped > bytes_max && files[count].is_finished && remove_log_file(files[count])) {
    dropped += files[count++].bytes;
  }
  if (count > 0) {
    log_error("access_log_backlog_dropped",
              {{"files", std::to_string(count)},
               {"bytes", std::to_string(dropped)},
               {"first", files.front().path},
               {"mend", "nginx writes the access log faster than the database stores it"}});
    files.erase(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return dropped;
}

}  // namespace hostler::runner
