// The only includer of libsodium. See lib/password.h.
#include "lib/password.h"

#include <sodium.h>

#include <mutex>

#include "lib/crypto.h"
#include "lib/error.h"

namespace hostler {
namespace {

// OWASP's least figures for Argon2id: 19 MiB, two passes, one lane (libsodium always uses one).
constexpr unsigned long long passes = 2;
constexpr size_t memory_bytes = 19456UL * 1024;

void start_library() {
  static std::once_flag started;
  std::call_once(started, [] {
    if (sodium_init() < 0) throw Error(ErrorCode::internal_error, {}, "sodium_init failed");
  });
}

}  // namespace

std::optional<std::string> hash_password(const std::string& password) {
  start_library();
  char out[crypto_pwhash_STRBYTES];
  if (crypto_pwhash_str_alg(out, password.data(), password.size(), passes, memory_bytes,
                            crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return std::nullopt;
  }
  return out;
}

PasswordCheck check_password(const std::string& password, const std::string& stored) {
  start_library();
  bool matches = crypto_pwhash_str_verify(stored.c_str(), password.data(), password.size()) == 0;
  bool needs_rehash =
      matches && crypto_pwhash_str_needs_rehash(stored.c_str(), passes, memory_bytes) != 0;
  return {matches, needs_rehash};
}

const std::string& nobodys_password_hash() {
  static const std::string hash = [] {
    std::optional<std::string> made = hash_password(to_hex(random_bytes(32)));
    if (!made) throw Error(ErrorCode::overload_busy, {}, "Argon2id: out of memory");
    return *made;
  }();
  return hash;
}

}  // namespace hostler
