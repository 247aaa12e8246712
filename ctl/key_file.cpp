// See ctl/key_file.h.
#include "ctl/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "lib/config/secret_box.h"
#include "lib/crypto.h"

namespace hostler {
namespace {

constexpr std::string_view next_mark = "next ";
constexpr size_t bare_key_bytes = 32;

// Its lines; a bare key becomes one.
std::vector<std::string> lines_of(const std::string& path) {
  std::string text;
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char piece[4096];
  for (ssize_t size = 0; fd >= 0 && (size = read(fd, piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<size_t>(size));
  }
  if (fd >= 0) close(fd);
  if (text.size() == bare_key_bytes) return {"1:" + to_base64(text)};
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t size = write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<size_t>(size));
  }
  return fsync(fd) == 0;
}

// The file itself where path is a link to it: that is the one of which copies are made.
std::string file_behind(const std::string& path) {
  std::error_code fault;
  std::filesystem::path file = std::filesystem::canonical(path, fault);
  return fault ? path : file.string();
}

// Replaces the file by the text. Answers why not, or nothing.
std::string replace(const std::string& path, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const std::string file = file_behind(path);
  std::string fresh = file + ".new";
  struct stat facts {};
  unlink(fresh.c_str());  // of a rotation that was killed
  int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool is_well = fd >= 0 && stat(path.c_str(), &facts) == 0;
  // The group too: programs that read the file themselves may have no other right to it.
  is_well = is_well && fchown(fd, facts.st_uid, facts.st_gid) == 0;
  is_well = is_well && fchmod(fd, facts.st_mode & 07777) == 0 && write_all(fd, text);
  is_well = is_well && rename(fresh.c_str(), file.c_str()) == 0;
  std::string fault = is_well ? "" : fmt::format("{}: {}", path, std::strerror(errno));
  if (fd >= 0) close(fd);
  if (!is_well) unlink(fresh.c_str());
  std::string folder = file.substr(0, file.find_last_of('/') + 1);
  int folder_fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd >= 0) {
    fsync(folder_fd);
    close(folder_fd);
  }
  return fault;
}

}  // namespace

int64_t prepared_version(const std::string& path) {
  for (const std::string& line : lines_of(path)) {
    if (!line.starts_with(next_mark)) continue;
    // The caller has read the file as a SecretBox, so its lines are valid.
    return std::strtoll(line.c_str() + next_mark.size(), nullptr, 10);
  }
  return 0;
}

KeyFileChange add_key(const std::string& path, bool is_prepared) {
  std::variant<config::SecretBox, std::string> box = config::SecretBox::load(path);
  if (const std::string* fault = std::get_if<std::string>(&box)) return {*fault, 0};
  int64_t version = std::get<config::SecretBox>(box).versions().back() + 1;
  std::vector<std::string> lines = lines_of(path);
  lines.push_back(fmt::format("{}{}:{}", is_prepared ? next_mark : "", version,
                              to_base64(random_bytes(bare_key_bytes))));
  return {replace(path, lines), version};
}

KeyFileChange use_prepared_key(const std::string& path) {
  std::vector<std::string> lines = lines_of(path);
  for (std::string& line : lines) {
    if (line.starts_with(next_mark)) line.erase(0, next_mark.size());
  }
  int64_t version = prepared_version(path);
  return {replace(path, lines), version};
}

}  // namespace hostler
