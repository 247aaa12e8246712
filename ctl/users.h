// What an operator sees of users and does with them and their sessions. Called by ctl/main.cpp.
#pragma once

#include <string>

#include "lib/settings.h"

namespace hostler {

// login: a login, username or mail address. Each returns the exit status, and throws Error when the
// database is out of reach or refuses (users_not_found, users_last_admin, sessions_not_found).
int show_user(const Settings& settings, const std::string& login, bool as_json);
// status: active or suspended.
int set_user_status(const Settings& settings, const std::string& login, const std::string& status);
int revoke_session(const Settings& settings, const std::string& session_id);
int revoke_sessions(const Settings& settings, const std::string& login);

}  // namespace hostler
