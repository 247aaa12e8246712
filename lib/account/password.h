// Argon2id password hashes (contract section 2), by libsodium, of passwords as RFC 8265 prepares
// them (OpaqueString). Two ways to type an accented letter are one password. A hash or a check
// takes tens of milliseconds and 19 MiB: never on a loop.
#pragma once

#include <optional>
#include <string>

namespace hostler::account {

struct PasswordCheck {
  bool matches;
  bool needs_rehash;  // the stored parameters are not today's
};

// The PHC string to store, its parameters within. Nothing: there is no memory.
std::optional<std::string> hash_password(const std::string& password);
// Returns nothing when memory is short. A hash is known only with today's parameters; with others
// it passes for a password that does not match. A password that is not in its prepared form is also
// tried as it came, and then needs another hash. This takes twice the time for every user.
std::optional<PasswordCheck> check_password(const std::string& password, const std::string& stored);
// A stored hash that no password matches: checking against it costs what a real check costs.
const std::string& nobodys_password_hash();

}  // namespace hostler::account
