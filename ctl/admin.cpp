// Users and administrators; see ctl/admin.h.
#include "ctl/admin.h"

#include <termios.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/account/account_rules.h"
#include "lib/account/password.h"
#include "lib/config/live_settings.h"
#include "lib/json.h"
#include "lib/mail_address.h"
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
    print_err("");
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

// Returns nothing, with the reason printed, if there is no usable answer.
std::optional<std::string> read_password(bool from_stdin) {
  std::string password;
  if (from_stdin) {
    std::getline(std::cin, password);
    if (password.ends_with('\r')) password.pop_back();
    return password;
  }
  if (isatty(STDIN_FILENO) == 0) {
    fail(exit_usage, "standard input is not a terminal; give the password with --password-stdin");
    return std::nullopt;
  }
  password = ask_unseen("Password: ");
  if (password != ask_unseen("Again: ")) {
    fail(exit_usage, "the two passwords differ");
    return std::nullopt;
  }
  return password;
}

int print_user(const std::string& user_id, const std::string& login, std::string_view what_now,
               bool as_json) {
  JsonWriter json;
  json.begin_object().member("user_id", user_id).member("login", login).end_object();
  return answer(as_json, json.take(), fmt::format("{} is {}\n", login, what_now));
}

constexpr std::string_view administrator = "a platform administrator";

// login: a login, username or mail address. Throws users_not_found, users_last_admin.
int change_admin(const CommandCall& call, const postgres::BoundStatement& change,
                 const std::string& login, std::string_view what_now) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl admin");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result changed = owner.session->run(change);
  return print_user(std::string(changed.text()), login, what_now, call.as_json);
}

// Change: query::AdminPromote or query::AdminDemote.
template <class Change>
void add_change_command(CommandLine& line, CommandWord topic, const std::string& name,
                        const std::string& sentence, std::string_view what_now) {
  auto login = std::make_shared<std::string>();
  CommandWord command =
      line.command(topic, name, sentence, [login, what_now](const CommandCall& call) {
        return change_admin(call, Change{.login = account::login_key(*login)}, *login, what_now);
      });
  command.add_option("LOGIN", *login, "login, username or mail address").required();
}

}  // namespace

int create_user(const config::Settings& settings, const NewUser& user) {
  std::string login = account::trimmed_name(user.login);
  std::string email = account::trimmed_email(user.email);
  std::optional<std::string> password = read_password(user.password_from_stdin);
  if (!password) return exit_usage;
  std::vector<FieldFault> faults = account::account_faults(login, email, *password, true);
  for (const FieldFault& fault : faults) {
    fail(exit_usage, fmt::format("{} {}", fault.field, fault.message));
  }
  if (!faults.empty()) return exit_usage;
  std::optional<std::string> hashed = account::hash_password(*password);
  if (!hashed) return fail(exit_try_again, "no memory to hash the password");
  OwnerSession owner = open_migrated(settings.text("database.url"), "hostlerctl user");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result stored = owner.session->run(query::SettingsAll{});
  config::Settings in_force = config::settings_with_stored(settings, stored, nullptr);
  bool takes_smtputf8 = in_force.boolean("mail.smtputf8");
  if (std::optional<account::TextFault> fault = account::new_email_fault(email, takes_smtputf8)) {
    return fail(exit_usage, "email " + fault->message);
  }
  owner.session->begin();
  postgres::Result created = owner.session->run(
      query::AdminRegister{.login = login,
                           .email = email,
                           .email_key = mail_address_key(email),
                           .password_hash = *hashed,
                           .credit_initial_grant = in_force.integer("credit.initial_grant"),
                           .invite_default_max_uses = in_force.integer("invite.default_max_uses"),
                           .look = account::name_look(login)});
  std::string user_id(created.text());
  if (user.is_admin) owner.session->run(query::AdminPromote{.login = login});
  owner.session->commit();
  return print_user(user_id, login, user.is_admin ? administrator : "a user", user.as_json);
}

void add_create_command(CommandLine& line, CommandWord topic, const std::string& sentence,
                        bool is_admin) {
  auto user = std::make_shared<NewUser>();
  user->is_admin = is_admin;
  CommandWord create = line.command(topic, "create", sentence, [user](const CommandCall& call) {
    user->as_json = call.as_json;
    return create_user(call.settings(), *user);
  });
  create.add_option("--login", user->login, "1 to 64 characters without @").required();
  create.add_option("--email", user->email, "the mail address").required();
  create.add_flag("--password-stdin", user->password_from_stdin,
                  "take the password from the first line of standard input");
}

void add_admin_commands(CommandLine& line) {
  CommandWord admin = line.topic("admin", "make platform administrators");
  add_create_command(line, admin, "a new user, who is administrator", true);
  add_change_command<query::AdminPromote>(line, admin, "promote", "make a user administrator",
                                          administrator);
  add_change_command<query::AdminDemote>(
      line, admin, "demote", "take the administrator's rights away", "no platform administrator");
}

}  // namespace hostler
