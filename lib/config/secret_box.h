// Secrets at rest: each is sealed under a random data key of its own, which is wrapped by a key of
// the key file; both are bound to id, organization and kind, so that a row moved elsewhere does not
// open. Used for API keys, mail passwords and secret settings, each box by one thread. Never logs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hostler::config {

// Where a secret belongs; the columns of the table secrets.
struct SecretIdentity {
  std::string id;
  std::string org_id;  // empty: the platform's
  std::string kind;    // llm_provider, tool_provider, setting, …
};

struct SealedSecret {
  int64_t key_version = 0;  // of the key file's key that wraps
  std::string wrapped_key;
  std::string sealed;
};

class SecretBox {
 public:
  // key_file: lines VERSION:base64(32 bytes), versions from 1, where the highest wraps what is new
  // and all may open; one with "next " in front only opens yet. Or exactly 32 raw bytes, which is
  // version 1. Answers what is wrong otherwise. A box that was loaded looks whether its file is
  // another one before it seals, and when a version is missing; a bad file changes nothing.
  static std::variant<SecretBox, std::string> load(const std::string& key_file);
  static std::variant<SecretBox, std::string> parse(std::string_view key_file_text);

  SealedSecret seal(const SecretIdentity& identity, std::string_view plain) const;
  // Returns nothing if the identity differs, a byte is changed, or the key's version is not in the
  // file.
  std::optional<std::string> open(const SecretIdentity& identity, const SealedSecret& secret) const;
  // The same secret under the newest key: only wrapped_key and key_version are others. Nothing when
  // its own key does not open it.
  std::optional<SealedSecret> rewrap(const SecretIdentity& identity,
                                     const SealedSecret& secret) const;

  // 32 bytes for one purpose, the same wherever the newest key is: for what must be recognised, not
  // read again. It changes with that key.
  std::string derived_key(std::string_view purpose) const;
  // The same of a certain key of the file; nothing when it is not there.
  std::optional<std::string> derived_key(std::string_view purpose, int64_t version) const;

  int64_t newest_version() const { return newest_; }
  // How often each key, by its version, wrapped since the last call: to be counted, since 2^32
  // random nonces are what AES-GCM allows a key.
  std::map<int64_t, int64_t> take_wraps() const { return std::exchange(wraps_, {}); }
  std::vector<int64_t> versions() const;

 private:
  // Identifies the content of a file: it changes when another file replaces it.
  struct Mark {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t changed_ns = 0;
    int64_t bytes = 0;
    bool operator==(const Mark&) const = default;
  };
  static Mark mark_of(const std::string& path);
  void read_again() const;
  std::optional<std::string> inner_key(const SecretIdentity& identity,
                                       const SealedSecret& secret) const;

  mutable std::map<int64_t, std::string> keys_;
  mutable int64_t newest_ = 0;  // of the keys that seal; always there
  std::string path_;            // empty: parsed from a text
  mutable Mark mark_;
  mutable std::map<int64_t, int64_t> wraps_;
};

// For a statement that stores the secret: {"id", "key_version", "wrapped_key", "sealed"}, bytes in
// base64.
std::string secret_json(const SecretIdentity& identity, const SealedSecret& secret);

// How a key is shown: its first characters and the last four with **** between; of a short one only
// **** (contract section 5). At most a third of the key is shown.
std::string key_prefix_of(std::string_view key);

}  // namespace hostler::config
