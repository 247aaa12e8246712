// Secrets at rest: each is sealed under a random data key of its own, which is wrapped by a key of
// the key file; both are bound to id, organization and kind, so that a row moved elsewhere does not
// open. Used by whoever stores or needs API keys, mail passwords and secret settings. Never logs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace hostler {

// Where a secret belongs; the columns of the table secrets.
struct SecretPlace {
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
  // and all may open; or exactly 32 raw bytes, which is version 1. Answers what is wrong otherwise.
  static std::variant<SecretBox, std::string> load(const std::string& key_file);
  static std::variant<SecretBox, std::string> parse(std::string_view key_file_text);

  SealedSecret seal(const SecretPlace& place, std::string_view plain) const;
  // Nothing when the place differs, a byte is changed, or the key's version is not in the file.
  std::optional<std::string> open(const SecretPlace& place, const SealedSecret& secret) const;

  // 32 bytes for one purpose, the same wherever the newest key is: for what must be recognised, not
  // read again. It changes with that key.
  std::string derived_key(std::string_view purpose) const;

  int64_t newest_version() const { return keys_.rbegin()->first; }

 private:
  std::map<int64_t, std::string> keys_;  // never empty
};

// For a statement that stores the secret: {"id", "key_version", "wrapped_key", "sealed"}, bytes in
// base64.
std::string secret_json(const SecretPlace& place, const SealedSecret& secret);

// How a key is shown: its first characters and the last four with **** between; of a short one only
// **** (contract section 5). At most a third of the key is shown.
std::string key_prefix_of(std::string_view key);

}  // namespace hostler
