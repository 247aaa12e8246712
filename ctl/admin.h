// Makes platform administrators, which nothing over HTTP can. Called by ctl/main.cpp.
#pragma once

#include <string>

#include "lib/settings.h"

namespace hostler {

struct NewAdmin {
  std::string login;
  std::string email;
  bool password_from_stdin = false;  // its first line; else a terminal is asked, without echo
  bool as_json = false;
};

// A user as by registration, then promoted, in one transaction. Returns the exit status; throws
// Error when the database is out of reach or refuses (auth_login_exists, auth_email_exists).
int create_admin(const Settings& settings, const NewAdmin& admin);
// login: a login, username or mail address.
int promote_admin(const Settings& settings, const std::string& login, bool as_json);

}  // namespace hostler
