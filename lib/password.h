// Argon2id password hashes (contract section 2), by libsodium. Both calls take tens of
// milliseconds and 19 MiB: call them on the thread pool, never on a loop.
#pragma once

#include <string>

namespace hostler {

struct PasswordCheck {
  bool matches;
  bool needs_rehash;  // the stored parameters are not today's
};

// The PHC string to store, its parameters within.
std::string hash_password(const std::string& password);
PasswordCheck check_password(const std::string& password, const std::string& stored);
// A stored hash that no password matches: checking against it costs what a real check costs.
const std::string& nobodys_password_hash();

}  // namespace hostler
