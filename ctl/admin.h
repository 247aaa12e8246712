// Makes users, and platform administrators, which nothing over HTTP can.
#pragma once

#include <string>

#include "ctl/command_line.h"

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
int create_user(const config::Settings& settings, const NewUser& user);
// The command create of a topic.
void add_create_command(CommandLine& line, CommandWord topic, const std::string& sentence,
                        bool is_admin);
// admin create, promote, demote.
void add_admin_commands(CommandLine& line);

}  // namespace hostler
