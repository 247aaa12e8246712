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
// Nothing: there is no memory. Only of a hash with today's parameters that is known; with others
// it passes for a password that does not match. A password that is not in its prepared form is
// tried as it came, too, and then needs another hash: whoever is checked, it takes twice the time.
std::optional<PasswordCheck> check_password(const std::string& password, const std::string& stored);
// A stored hash that no password matches: checking against it costs what a real check costs.
const std::string& nobodys_password_hash();

}  // namespace hostler::account
