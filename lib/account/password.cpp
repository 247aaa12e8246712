// The only includer of libsodium. See lib/account/password.h.
#include "lib/account/password.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <string_view>

#include "lib/crypto.h"
#include "lib/error.h"
#include "lib/unicode.h"

namespace hostler::account {
namespace {

// OWASP's least figures for Argon2id: 19 MiB, two passes, one lane (libsodium always uses one).
constexpr unsigned long long passes = 2;
constexpr size_t memory_bytes = 19456UL * 1024;

// Made of the figures above: a head that disagreed with them would refuse right passwords.
const std::string todays_head = "$argon2id$v=19$m=" + std::to_string(memory_bytes / 1024) +
                                ",t=" + std::to_string(passes) + ",p=1$";
constexpr int base64_form = sodium_base64_VARIANT_ORIGINAL_NO_PADDING;
constexpr size_t hash_bytes = 32;

struct TodaysHash {
  std::array<unsigned char, crypto_pwhash_SALTBYTES> salt;
  std::array<unsigned char, hash_bytes> hash;
};

std::optional<TodaysHash> read_todays_hash(std::string_view stored) {
  if (!stored.starts_with(todays_head)) return std::nullopt;
  stored.remove_prefix(todays_head.size());
  size_t salt_end = std::min(stored.find('$'), stored.size());
  std::string_view rest = stored.substr(std::min(salt_end + 1, stored.size()));
  TodaysHash read;
  auto fills = [](auto& bytes, std::string_view text) {
    size_t count = 0;
    return sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &count,
                             nullptr, base64_form) == 0 &&
           count == bytes.size();
  };
  if (!fills(read.salt, stored.substr(0, salt_end)) || !fills(read.hash, rest)) return std::nullopt;
  return read;
}

std::string unpadded_base64(std::string_view bytes) {
  std::string text = to_base64(bytes);
  text.resize(text.find_last_not_of('=') + 1);
  return text;
}

void start_library() {
  static std::once_flag started;
  std::call_once(started, [] {
    if (sodium_init() < 0) throw Error(ErrorCode::internal_error, {}, "sodium_init failed");
  });
}

// crypto_pwhash_str_verify says "no match" also when it had no memory, down to the errno; what it
// is made of does not.
std::optional<PasswordCheck> check_bytes(const std::string& password, const std::string& stored) {
  if (std::optional<TodaysHash> todays = read_todays_hash(stored)) {
    std::array<unsigned char, hash_bytes> hash;
    if (crypto_pwhash(hash.data(), hash.size(), password.data(), password.size(),
                      todays->salt.data(), passes, memory_bytes,
                      crypto_pwhash_ALG_ARGON2ID13) != 0) {
      return std::nullopt;
    }
    return PasswordCheck{sodium_memcmp(hash.data(), todays->hash.data(), hash.size()) == 0, false};
  }
  bool matches = crypto_pwhash_str_verify(stored.c_str(), password.data(), password.size()) == 0;
  bool needs_rehash =
      matches && crypto_pwhash_str_needs_rehash(stored.c_str(), passes, memory_bytes) != 0;
  return PasswordCheck{matches, needs_rehash};
}

}  // namespace

std::optional<std::string> hash_password(const std::string& password) {
  start_library();
  const std::string prepared = unicode::opaque_string(password);
  char out[crypto_pwhash_STRBYTES];
  if (crypto_pwhash_str_alg(out, prepared.data(), prepared.size(), passes, memory_bytes,
                            crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return std::nullopt;
  }
  return out;
}

std::optional<PasswordCheck> check_password(const std::string& password,
                                            const std::string& stored) {
  start_library();
  const std::string prepared = unicode::opaque_string(password);
  std::optional<PasswordCheck> check = check_bytes(prepared, stored);
  if (!check || check->matches || prepared == password) return check;
  // A hash from before passwords were prepared.
  check = check_bytes(password, stored);
  if (check) check->needs_rehash = check->matches;
  return check;
}

// Random bytes where those of Argon2id stand: to make it takes no time.
const std::string& nobodys_password_hash() {
  static const std::string hash = todays_head +
                                  unpadded_base64(random_bytes(crypto_pwhash_SALTBYTES)) + "$" +
                                  unpadded_base64(random_bytes(hash_bytes));
  return hash;
}

}  // namespace hostler::account
