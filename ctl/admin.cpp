// Users and administrators; see ctl/admin.h.
#include "ctl/admin.h"

#include <termios.h>
#include <unistd.h>

#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "ctl/answers.h"
#include "ctl/owner_session.h"
#include "lib/account_rules.h"
#include "lib/json.h"
#include "lib/loop/live_settings.h"
#include "lib/password.h"
#include "queries/operator.h"
#include "queries/settings.h"

namespace hostler {
namespace {

// Typed characters stay unseen while it lives.
class EchoOff {
 public:
  EchoOff() {
    is_terminal_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (!is_terminal_) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  }
  ~EchoOff() {
    if (!is_terminal_) return;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    tell("");
  }
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;

 private:
  bool is_terminal_;
  termios before_{};
};

std::string ask_unseen(std::string_view question) {
  fmt::print(stderr, "{}", question);
  EchoOff unseen;
  std::string line;
  std::getline(std::cin, line);
  return line;
}

// Nothing, and told why, when there is no usable answer.
std::optional<std::string> read_password(bool from_stdin) {
  std::string password;
  if (from_stdin) {
    std::getline(std::cin, password);
    if (password.ends_with('\r')) password.pop_back();
    return password;
  }
  if (isatty(STDIN_FILENO) == 0) {
    fail(exit_usage, "standard input is no terminal; give the password with --password-stdin");
    return std::nullopt;
  }
  password = ask_unseen("Password: ");
  if (password != ask_unseen("Again: ")) {
    fail(exit_usage, "the two passwords differ");
    return std::nullopt;
  }
  return password;
}

// What registration gives; no mode and no code stop an operator.
std::string registration_terms(const Settings& settings) {
  JsonWriter terms;
  terms.begin_object().member("registration_mode", "open");
  terms.member("initial_grant", settings.integer("credit.initial_grant"));
  terms.member("invite_max_uses", settings.integer("invite.default_max_uses")).end_object();
  return terms.take();
}

int print_user(const std::string& user_id, const std::string& login, std::string_view what_now,
               bool as_json) {
  JsonWriter json;
  json.begin_object().member("user_id", user_id).member("login", login).end_object();
  print_out(as_json ? json.take() + "\n" : fmt::format("{} is {}\n", login, what_now));
  return exit_ok;
}

constexpr std::string_view administrator = "a platform administrator";

int change_admin(const Settings& settings, const Statement& change, const std::string& login,
                 std::string_view what_now, bool as_json) {
  OwnerSession owner = open_migrated(settings.text("database.url"), "hostlerctl admin");
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Result changed = owner.session->run(change, Params().text(login));
  return print_user(std::string(changed.text()), login, what_now, as_json);
}

}  // namespace

int create_user(const Settings& settings, const NewUser& user) {
  std::string login = trimmed_name(user.login);
  std::optional<std::string> password = read_password(user.password_from_stdin);
  if (!password) return exit_usage;
  std::vector<FieldFault> faults = account_faults(login, user.email, *password);
  for (const FieldFault& fault : faults) {
    fail(exit_usage, fmt::format("{} {}", fault.field, fault.message));
  }
  if (!faults.empty()) return exit_usage;
  OwnerSession owner = open_migrated(settings.text("database.url"), "hostlerctl user");
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Result stored = owner.session->run(query::settings_all);
  Settings in_force = settings_with_stored(settings, stored, nullptr);
  owner.session->begin();
  Result made = owner.session->run(query::admin_register, Params()
                                                              .text(login)
                                                              .text(user.email)
                                                              .text(hash_password(*password))
                                                              .text(registration_terms(in_force)));
  std::string user_id(made.text());
  if (user.is_admin) owner.session->run(query::admin_promote, Params().text(login));
  owner.session->commit();
  return print_user(user_id, login, user.is_admin ? administrator : "a user", user.as_json);
}

int promote_admin(const Settings& settings, const std::string& login, bool as_json) {
  return change_admin(settings, query::admin_promote, login, administrator, as_json);
}

int demote_admin(const Settings& settings, const std::string& login, bool as_json) {
  return change_admin(settings, query::admin_demote, login, "no platform administrator", as_json);
}

}  // namespace hostler
