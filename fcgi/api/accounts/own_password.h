// The caller's own password, as what a change of the account's anchors needs. Called by the
// handlers of POST /v1/me/password, POST /v1/me/email, DELETE /v1/me and POST /v1/auth/confirm;
// stores no password.
#pragma once

#include <string>
#include <string_view>

#include "fcgi/http/handler.h"
#include "fcgi/http/input.h"
#include "lib/loop/task.h"

namespace hostler {

// Longer than any that may be set: what letters are typed with may make more characters of it.
constexpr TextBounds given_password{.min = 1, .max = 512, .takes_control = true};

// Values for checking the caller's current password.
struct OwnAccount {
  std::string stored_hash;  // empty: there is no password
  std::string login;
  std::string email;
  bool may_forget;    // the session began by a mailed code a moment ago
  bool has_factor;    // then the password alone changes nothing
  bool is_confirmed;  // a moment ago, which serves in place of the password
};

// Throws auth.rate_limited after too many wrong passwords.
Task<OwnAccount> load_own_account(Call& call);
// The 422 of an account with a factor that was not shown a moment ago.
void check_factor_proof(const OwnAccount& account);

// Throws auth.wrong_password, also if there is no password. Each such guess counts like a failed
// login, and the audit log records it under the action.
Task<void> check_own_password(Call& call, std::string given, std::string stored_hash,
                              std::string_view action);

}  // namespace hostler
