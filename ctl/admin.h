// Makes users, and platform administrators, which nothing over HTTP can. Called by ctl/main.cpp.
#pragma once

#include <string>

#include "lib/settings.h"

namespace hostler {

struct NewUser {
  std::string login;
  std::string email;
  bool password_from_stdin = false;  // its first line; else a terminal is asked, without echo
  bool is_admin = false;
  bool as_json = false;
};

// A user as by registration, without a mail, then promoted if asked for, in one transaction.
// Returns the exit status; throws Error when the database is out of reach or refuses
// (auth_login_exists, auth_email_exists).
int create_user(const Settings& settings, const NewUser& user);
// login: a login, username or mail address. demote throws users_last_admin.
int promote_admin(const Settings& settings, const std::string& login, bool as_json);
int demote_admin(const Settings& settings, const std::string& login, bool as_json);

}  // namespace hostler
