// Envelope encryption of secrets; see lib/config/secret_box.h.
#include "lib/config/secret_box.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/json.h"

namespace hostler::config {
namespace {

constexpr size_t key_bytes = 32;
constexpr size_t file_bytes_max = 64 * 1024;
constexpr std::string_view next_key_mark = "next ";

// The parts hold no "|": ids are UUIDs and kinds are words.
std::string bound_text(const SecretIdentity& identity) {
  return identity.id + "|" + identity.org_id + "|" + identity.kind;
}

struct FileEnd {
  int fd;
  ~FileEnd() { close(fd); }
};

// Another key opens nothing of what is stored, so no mend is a new file while there may be one.
constexpr const char* missing_mend =
    "copy it from another host or from your copy of it; `hostlerctl setup` makes one for a "
    "database that has no secrets";
constexpr const char* rights_mend =
    "the user of this program must be able to read it, and other users must not: chmod 0600, owned "
    "by root if systemd hands it to the programs, else by their user; or 0640 and their group";
constexpr const char* form_mend =
    "take the key file of another host, or your copy of it, because no other key opens the stored "
    "secrets";

std::string with_mend(std::string fault, const char* mend) {
  return std::move(fault) + " (secrets.key_file; " + mend + ")";
}

std::string why_not_opened(const std::string& path, int cause) {
  std::string fault = fmt::format("{} cannot be read: {}", path, std::strerror(cause));
  if (cause == ENOENT) return with_mend(std::move(fault), missing_mend);
  return cause == EACCES ? with_mend(std::move(fault), rights_mend) : fault;
}

// Returns the text of the file, or its fault and how to fix it.
struct KeyFileText {
  std::string fault;
  std::string text;
};
KeyFileText read_key_file(const std::string& path) {
  FileEnd file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return {why_not_opened(path, errno), {}};
  struct stat facts {};
  if (fstat(file.fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return {with_mend(path + " is not a regular file", form_mend), {}};
  }
  if ((facts.st_mode & S_IRWXO) != 0) {
    return {with_mend(path + " is open to everybody", rights_mend), {}};
  }
  KeyFileText answer;
  std::array<char, 4096> piece;
  for (;;) {
    ssize_t count = read(file.fd, piece.data(), piece.size());
    if (count < 0) return {fmt::format("{} cannot be read: {}", path, std::strerror(errno)), {}};
    if (count == 0) return answer;
    answer.text.append(piece.data(), static_cast<size_t>(count));
    if (answer.text.size() > file_bytes_max) {
      return {with_mend(path + " is too large for a key file", form_mend), {}};
    }
  }
}

}  // namespace

std::variant<SecretBox, std::string> SecretBox::parse(std::string_view text) {
  SecretBox box;
  if (text.size() == key_bytes) {
    box.keys_[1] = std::string(text);
    box.newest_ = 1;
    return box;
  }
  int line_number = 0;
  while (!text.empty()) {
    ++line_number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty() || line.starts_with('#')) continue;
    const bool is_next = line.starts_with(next_key_mark);
    if (is_next) line.remove_prefix(next_key_mark.size());
    size_t colon = std::min(line.find(':'), line.size());
    int64_t version = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + colon, version);
    bool has_version = error == std::errc() && end == line.data() + colon && version >= 1 &&
                       version <= INT32_MAX && colon < line.size();
    if (!has_version)
      return fmt::format("line {} does not begin with a version and \":\"", line_number);
    std::optional<std::string> key = from_base64(line.substr(colon + 1));
    if (!key || key->size() != key_bytes) {
      return fmt::format("line {} is not base64 of 32 bytes after the \":\"", line_number);
    }
    if (!box.keys_.emplace(version, *key).second) {
      return fmt::format("line {} gives version {} again", line_number, version);
    }
    if (!is_next) box.newest_ = std::max(box.newest_, version);
  }
  if (box.newest_ == 0) {
    return std::string("it has no key; it must have 32 bytes, or lines VERSION:base64");
  }
  return box;
}

std::variant<SecretBox, std::string> SecretBox::load(const std::string& key_file) {
  Mark mark = mark_of(key_file);  // before the text: one that changes meanwhile is read again
  KeyFileText file = read_key_file(key_file);
  if (!file.fault.empty()) return file.fault;
  std::variant<SecretBox, std::string> parsed = parse(file.text);
  if (const std::string* fault = std::get_if<std::string>(&parsed)) {
    return with_mend(key_file + ": " + *fault, form_mend);
  }
  SecretBox& box = std::get<SecretBox>(parsed);
  box.path_ = key_file;
  box.mark_ = mark;
  return parsed;
}

SecretBox::Mark SecretBox::mark_of(const std::string& path) {
  struct stat facts {};
  if (path.empty() || stat(path.c_str(), &facts) != 0) return {};
  return {facts.st_dev, facts.st_ino, facts.st_ctim.tv_sec * 1'000'000'000 + facts.st_ctim.tv_nsec,
          facts.st_size};
}

void SecretBox::read_again() const {
  Mark mark = mark_of(path_);
  if (mark == mark_) return;
  mark_ = mark;
  std::variant<SecretBox, std::string> loaded = load(path_);
  SecretBox* box = std::get_if<SecretBox>(&loaded);
  if (box == nullptr) return;
  keys_ = std::move(box->keys_);
  newest_ = box->newest_;
}

std::vector<int64_t> SecretBox::versions() const {
  std::vector<int64_t> list;
  for (const auto& [version, key] : keys_) list.push_back(version);
  return list;
}

SealedSecret SecretBox::seal(const SecretIdentity& identity, std::string_view plain) const {
  read_again();
  const int64_t version = newest_;
  const std::string& wrapping_key = keys_.at(version);
  std::string data_key = random_bytes(key_bytes);
  std::string bound = bound_text(identity);
  ++wraps_[version];
  return {version, hostler::seal(wrapping_key, data_key, bound),
          hostler::seal(data_key, plain, bound)};
}

std::optional<std::string> SecretBox::inner_key(const SecretIdentity& identity,
                                                const SealedSecret& secret) const {
  if (!keys_.contains(secret.key_version)) read_again();
  auto found = keys_.find(secret.key_version);
  if (found == keys_.end()) return std::nullopt;
  std::optional<std::string> opened =
      open_sealed(found->second, secret.wrapped_key, bound_text(identity));
  return opened && opened->size() == key_bytes ? opened : std::nullopt;
}

std::optional<std::string> SecretBox::open(const SecretIdentity& identity,
                                           const SealedSecret& secret) const {
  std::optional<std::string> key = inner_key(identity, secret);
  return key ? open_sealed(*key, secret.sealed, bound_text(identity)) : std::nullopt;
}

std::optional<SealedSecret> SecretBox::rewrap(const SecretIdentity& identity,
                                              const SealedSecret& secret) const {
  std::optional<std::string> key = inner_key(identity, secret);
  if (!key) return std::nullopt;
  return SealedSecret{newest_, hostler::seal(keys_.at(newest_), *key, bound_text(identity)),
                      secret.sealed};
}

std::string SecretBox::derived_key(std::string_view purpose) const {
  read_again();
  return hmac_sha256(keys_.at(newest_), fmt::format("hostler {}", purpose));
}

std::optional<std::string> SecretBox::derived_key(std::string_view purpose, int64_t version) const {
  if (!keys_.contains(version)) read_again();
  auto key = keys_.find(version);
  if (key == keys_.end()) return std::nullopt;
  return hmac_sha256(key->second, fmt::format("hostler {}", purpose));
}

std::string secret_json(const SecretIdentity& identity, const SealedSecret& secret) {
  JsonWriter json;
  json.begin_object().member("id", identity.id).member("key_version", secret.key_version);
  json.member("wrapped_key", to_base64(secret.wrapped_key));
  json.member("sealed", to_base64(secret.sealed)).end_object();
  return json.take();
}

std::string key_prefix_of(std::string_view key) {
  constexpr size_t shown_first_max = 8;
  constexpr size_t shown_last = 4;
  constexpr size_t key_min = 18;
  if (key.size() < key_min) return "****";
  size_t shown_first = std::min(shown_first_max, key.size() / 3 - shown_last);
  // A key is any text: what would cut a character, or be unreadable in a list, is not shown.
  bool is_plain = std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (!is_plain) return "****";
  return fmt::format("{}****{}", key.substr(0, shown_first), key.substr(key.size() - shown_last));
}

}  // namespace hostler::config
