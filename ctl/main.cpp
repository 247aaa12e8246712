// hostlerctl: the operator's command line. Sets up the database, applies migrations, makes users
// and administrators, shows organizations, ends sessions and keys, mends the outbox, verifies the
// ledger, shows and checks the settings. Talks to Postgres directly, never over HTTP, as a
// superuser or a member of hostler_owner (database.url). Exit status: 0, or as in sysexits.h.
// Owner of CLI11.
#include <unistd.h>

#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ctl/admin.h"
#include "ctl/answers.h"
#include "ctl/backup.h"
#include "ctl/doctor.h"
#include "ctl/gateway.h"
#include "ctl/ledger.h"
#include "ctl/migrations.h"
#include "ctl/offers.h"
#include "ctl/outbox.h"
#include "ctl/setup_database.h"
#include "ctl/tenants.h"
#include "ctl/users.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/settings_load.h"
#include "schema_version.h"

namespace hostler {
namespace {

struct Options {
  std::string config;
  std::string output = "text";
  std::string superuser_url;
  std::string database = "hostler";
  MigrateOptions migrate;
  std::string backup_file;
  KeyToRevoke key;
  std::string org_shown;
  int orgs_most = 50;
  IpRulesOrder ip_rules;
  OutboxFilter outbox;
  std::string message_id;
  bool all_failed = false;
  NewUser new_user;
  std::string login;       // of the user that a command is about
  std::string session_id;  // of the session
  CreditAdjustment adjustment;
  std::string flag_key;
  bool flag_value = false;

  bool as_json() const { return output == "json"; }
};

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::database_unavailable:
      return exit_unavailable;
    case ErrorCode::overload_busy:
      return exit_try_again;
    case ErrorCode::internal_error:
      return exit_software;
    case ErrorCode::http_bad_request:
      return exit_bad_input;
    default:
      return exit_bad_input;
  }
}

std::string words_of(const Error& error) {
  std::string words(error.detail.empty() ? error_row(error.code).title : error.detail);
  if (error.code == ErrorCode::overload_busy) words = "something holds a lock; try again";
  if (error.code == ErrorCode::internal_error) words = "a statement failed";
  return error.cause.empty() ? words : words + ": " + error.cause;
}

int print_version(const Options& options) {
  if (options.as_json()) {
    JsonWriter json;
    json.begin_object().member("version", HOSTLER_VERSION);
    json.member("schema_version", schema_version_expected).end_object();
    print_out(json.take() + "\n");
  } else {
    print_out(fmt::format("hostlerctl {}, schema {}\n", HOSTLER_VERSION, schema_version_expected));
  }
  return exit_ok;
}

// What was asked for is not complete: says what there is.
int print_help(const CLI::App& app) {
  print_out(app.help());
  return exit_usage;
}

int run_admin(const CLI::App& admin, const Settings& settings, Options& options) {
  options.new_user.as_json = options.as_json();
  options.new_user.is_admin = true;
  if (admin.got_subcommand("create")) return create_user(settings, options.new_user);
  if (admin.got_subcommand("promote")) {
    return promote_admin(settings, options.login, options.as_json());
  }
  if (admin.got_subcommand("demote")) {
    return demote_admin(settings, options.login, options.as_json());
  }
  return print_help(admin);
}

int run_org(const CLI::App& org, const Settings& settings, const Options& options) {
  if (org.got_subcommand("list")) {
    return list_orgs(settings, options.orgs_most, options.as_json());
  }
  if (org.got_subcommand("show")) {
    return show_org(settings, options.org_shown, options.as_json());
  }
  return print_help(org);
}

int run_apikey(const CLI::App& apikey, const Settings& settings, Options& options) {
  options.key.as_json = options.as_json();
  return apikey.got_subcommand("revoke") ? revoke_api_key(settings, options.key)
                                         : print_help(apikey);
}

int run_ip_rules(const CLI::App& rules, const Settings& settings, Options& options) {
  options.ip_rules.as_json = options.as_json();
  if (rules.got_subcommand("list")) return list_ip_rules_of(settings, options.ip_rules);
  if (rules.got_subcommand("delete")) return delete_ip_rules_of(settings, options.ip_rules);
  return print_help(rules);
}

int run_gateway(const CLI::App& gateway, const Settings& settings, const Options& options) {
  if (gateway.got_subcommand("show")) return show_gateway(settings, options.as_json());
  if (gateway.got_subcommand("reset")) return reset_gateway(settings, options.as_json());
  return print_help(gateway);
}

int run_outbox(const CLI::App& outbox, const Settings& settings, const Options& options) {
  if (outbox.got_subcommand("list"))
    return list_outbox(settings, options.outbox, options.as_json());
  if (outbox.got_subcommand("drop")) return drop_outbox(settings, options.message_id);
  if (!outbox.got_subcommand("retry")) return print_help(outbox);
  if (options.message_id.empty() != options.all_failed) {
    return fail(exit_usage, "name a message, or say --all-failed");
  }
  return retry_outbox(settings, options.message_id);
}

int run_user(const CLI::App& user, const Settings& settings, Options& options) {
  options.new_user.as_json = options.as_json();
  if (user.got_subcommand("create")) return create_user(settings, options.new_user);
  if (user.got_subcommand("show")) return show_user(settings, options.login, options.as_json());
  if (user.got_subcommand("suspend")) return set_user_status(settings, options.login, "suspended");
  if (user.got_subcommand("activate")) return set_user_status(settings, options.login, "active");
  return print_help(user);
}

int run_session(const CLI::App& session, const Settings& settings, const Options& options) {
  if (!session.got_subcommand("revoke")) return print_help(session);
  if (!options.session_id.empty()) return revoke_session(settings, options.session_id);
  return revoke_sessions(settings, options.login);
}

// The commands of two words that come to the same: the second one is all there is.
int run_money(const CLI::App& app, const Settings& settings, Options& options) {
  const CLI::App& area = *app.get_subcommands().front();
  if (area.get_subcommands().empty()) return print_help(area);
  if (area.get_name() == "ledger") return verify_ledger(settings, options.as_json());
  if (area.get_name() == "plan") return list_plans(settings, options.as_json());
  options.adjustment.as_json = options.as_json();
  if (area.get_name() == "credits") return adjust_credits(settings, options.adjustment);
  return set_flag(settings, options.flag_key, options.flag_value, options.as_json());
}

int run(const CLI::App& app, Options& options) {
  if (app.get_subcommands().empty()) return print_help(app);
  if (app.got_subcommand("version")) return print_version(options);
  LoadedSettings loaded = load_settings(options.config, environ);
  for (const std::string& fault : loaded.faults) fail(exit_bad_configuration, fault);
  if (!loaded.faults.empty()) return exit_bad_configuration;
  if (app.got_subcommand("check-config")) return exit_ok;
  if (app.got_subcommand("config")) {
    print_out(print_settings(loaded.settings));
    return exit_ok;
  }
  if (app.got_subcommand("setup-database")) {
    return setup_database(options.superuser_url, options.database);
  }
  if (app.got_subcommand("backup")) return back_up(loaded.settings, options.backup_file);
  if (app.got_subcommand("restore")) return restore(loaded.settings, options.backup_file);
  if (app.got_subcommand("doctor")) return run_doctor(loaded.settings, options.as_json());
  if (app.got_subcommand("admin")) {
    return run_admin(*app.get_subcommand("admin"), loaded.settings, options);
  }
  if (app.got_subcommand("org")) {
    return run_org(*app.get_subcommand("org"), loaded.settings, options);
  }
  if (app.got_subcommand("apikey")) {
    return run_apikey(*app.get_subcommand("apikey"), loaded.settings, options);
  }
  if (app.got_subcommand("ip-rules")) {
    return run_ip_rules(*app.get_subcommand("ip-rules"), loaded.settings, options);
  }
  if (app.got_subcommand("gateway")) {
    return run_gateway(*app.get_subcommand("gateway"), loaded.settings, options);
  }
  if (app.got_subcommand("outbox")) {
    return run_outbox(*app.get_subcommand("outbox"), loaded.settings, options);
  }
  if (app.got_subcommand("user")) {
    return run_user(*app.get_subcommand("user"), loaded.settings, options);
  }
  if (app.got_subcommand("session")) {
    return run_session(*app.get_subcommand("session"), loaded.settings, options);
  }
  if (!app.got_subcommand("migrate")) return run_money(app, loaded.settings, options);
  options.migrate.database_url = loaded.settings.text("database.url");
  options.migrate.as_json = options.as_json();
  return migrate(options.migrate);
}

CLI::App* add_create_command(CLI::App& topic, Options& options, const std::string& sentence) {
  CLI::App* create = topic.add_subcommand("create", sentence);
  create->add_option("--login", options.new_user.login, "1 to 64 characters without @")->required();
  create->add_option("--email", options.new_user.email, "the mail address")->required();
  create->add_flag("--password-stdin", options.new_user.password_from_stdin,
                   "take the password from the first line of standard input");
  return create;
}

void add_login_command(CLI::App& topic, Options& options, const std::string& name,
                       const std::string& sentence) {
  CLI::App* command = topic.add_subcommand(name, sentence);
  command->add_option("LOGIN", options.login, "login, username or mail address")->required();
}

void add_account_commands(CLI::App& app, Options& options) {
  CLI::App* admin = app.add_subcommand("admin", "make platform administrators");
  admin->require_subcommand(0, 1);
  add_create_command(*admin, options, "a new user, who is administrator");
  add_login_command(*admin, options, "promote", "make a user administrator");
  add_login_command(*admin, options, "demote", "make an administrator a user like others");

  CLI::App* user = app.add_subcommand("user", "make, show, suspend users");
  user->require_subcommand(0, 1);
  add_create_command(*user, options, "a new user, as by registration");
  add_login_command(*user, options, "show", "print a user with organizations and sessions");
  add_login_command(*user, options, "suspend", "end the sessions and let nobody in");
  add_login_command(*user, options, "activate", "let a suspended user in again");

  CLI::App* session = app.add_subcommand("session", "end sessions");
  session->require_subcommand(0, 1);
  CLI::App* revoke = session->add_subcommand("revoke", "end one session, or all of a user");
  CLI::Option_group* which = revoke->add_option_group("which");
  which->add_option("SESSION_ID", options.session_id, "as user show prints it");
  which->add_option("--user", options.login, "login, username or mail address: all of theirs");
  which->require_option(1);
}

void add_tenant_commands(CLI::App& app, Options& options) {
  CLI::App* org = app.add_subcommand("org", "look at organizations");
  org->require_subcommand(0, 1);
  CLI::App* list = org->add_subcommand("list", "all, newest first");
  list->add_option("--limit", options.orgs_most, "at most so many")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  CLI::App* show = org->add_subcommand("show", "one with its members");
  show->add_option("ORG", options.org_shown, "id or slug")->required();

  CLI::App* apikey = app.add_subcommand("apikey", "end API keys");
  apikey->require_subcommand(0, 1);
  CLI::App* revoke = apikey->add_subcommand("revoke", "a key is dead from the next request on");
  CLI::Option* id = revoke->add_option("KEY_ID", options.key.id, "the id of the key");
  revoke
      ->add_flag("--key-stdin", options.key.from_stdin,
                 "take the key itself from the first line of standard input")
      ->excludes(id);
}

void add_gateway_commands(CLI::App& app, Options& options) {
  CLI::App* rules = app.add_subcommand("ip-rules", "an organization's IP rules");
  rules->require_subcommand(0, 1);
  constexpr const char* named = "id or slug, or a login for somebody's own";
  CLI::App* list = rules->add_subcommand("list", "show them");
  list->add_option("ORG", options.ip_rules.org, named)->required();
  CLI::App* remove = rules->add_subcommand("delete", "take one or all of them away");
  remove->add_option("ORG", options.ip_rules.org, named)->required();
  remove->add_option("RULE_ID", options.ip_rules.rule_id, "which one");
  remove->add_flag("--all", options.ip_rules.is_all, "all of them");
  CLI::App* gateway = app.add_subcommand("gateway", "how clients are recognized");
  gateway->require_subcommand(0, 1);
  gateway->add_subcommand("show", "what is in force");
  gateway->add_subcommand("reset", "forget what administrators stored");
}

void add_outbox_commands(CLI::App& app, Options& options) {
  CLI::App* outbox = app.add_subcommand("outbox", "see and mend mails and webhooks that are stuck");
  outbox->require_subcommand(0, 1);
  CLI::App* list = outbox->add_subcommand("list", "what waits or failed, oldest first");
  list->add_option("--status", options.outbox.status, "only this status")
      ->check(CLI::IsMember({"pending", "failed", "cancelled", "delivered"}));
  list->add_option("--kind", options.outbox.kind, "only mails, or only webhooks")
      ->check(CLI::IsMember({"mail", "webhook"}));
  list->add_option("--limit", options.outbox.limit, "at most so many")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  CLI::App* retry = outbox->add_subcommand("retry", "try again now what failed or waits");
  retry->add_option("ID", options.message_id, "the message");
  retry->add_flag("--all-failed", options.all_failed, "every message that failed");
  CLI::App* drop = outbox->add_subcommand("drop", "take a message away that nobody shall get");
  drop->add_option("ID", options.message_id, "the message")->required();
}

void add_money_commands(CLI::App& app, Options& options) {
  CLI::App* ledger = app.add_subcommand("ledger", "check the ledger of credits");
  ledger->add_subcommand("verify", "name the first row that is wrong, or none");
  CLI::App* credits = app.add_subcommand("credits", "change credits by hand");
  CLI::App* adjust = credits->add_subcommand("adjust", "add or take credits of an organization");
  adjust->add_option("--org", options.adjustment.org_id, "the organization's id")->required();
  adjust->add_option("--amount", options.adjustment.amount, "negative takes")->required();
  adjust->add_option("--note", options.adjustment.note, "why, for the ledger");
  CLI::App* plan = app.add_subcommand("plan", "show the plans");
  plan->add_subcommand("list", "each plan with its entitlements");
  CLI::App* flag = app.add_subcommand("flag", "set feature flags");
  for (CLI::App* area : {ledger, credits, plan, flag}) area->require_subcommand(0, 1);
  CLI::App* set = flag->add_subcommand("set", "the value where no organization overrides it");
  set->add_option("KEY", options.flag_key, "the flag")->required();
  set->add_option("VALUE", options.flag_value, "true or false")->required();
}

void add_commands(CLI::App& app, Options& options) {
  app.set_version_flag("--version", "hostlerctl " HOSTLER_VERSION);
  app.set_help_all_flag("--help-all", "Print the help of all commands and exit");
  app.require_subcommand(0, 1);  // none: the help; an unknown one is then told by its name
  app.fallthrough();             // --config and -o may stand after the command too
  app.add_option("--config", options.config, "the file of settings")
      ->type_name("FILE")
      ->default_str(std::string(default_settings_file));
  app.add_option("-o,--output", options.output, "text or json, where a command prints facts")
      ->check(CLI::IsMember({"text", "json"}));

  CLI::App* setup =
      app.add_subcommand("setup-database", "make roles and database; may be repeated");
  setup->add_option("--superuser-url", options.superuser_url, "how to connect as a superuser")
      ->type_name("URL")
      ->required();
  setup->add_option("--database", options.database, "the database to make ready")
      ->type_name("NAME")
      ->capture_default_str();

  CLI::App* migrations =
      app.add_subcommand("migrate", "apply the migrations that database.url lacks");
  CLI::Option* status =
      migrations->add_flag("--status", options.migrate.status_only, "only list what is applied");
  migrations->add_flag("--dry-run", options.migrate.dry_run, "only say what would be applied")
      ->excludes(status);
  migrations
      ->add_option("--directory", options.migrate.folder,
                   "take migrations from here instead of the program's own")
      ->type_name("DIR");

  CLI::App* backup = app.add_subcommand("backup", "copy the database into a file, while all runs");
  backup->add_option("FILE", options.backup_file, "a new file; FILE.json says what is inside")
      ->required();
  CLI::App* restored = app.add_subcommand("restore", "fill an empty database out of such a file");
  restored->add_option("FILE", options.backup_file, "what backup wrote")->required();
  app.add_subcommand("doctor", "look at this installation and say what is wrong, with the mend");

  add_account_commands(app, options);
  add_tenant_commands(app, options);
  add_gateway_commands(app, options);
  add_outbox_commands(app, options);
  add_money_commands(app, options);
  app.add_subcommand("config", "print the settings in force, as a file with comments");
  app.add_subcommand("check-config", "say what is wrong with the settings, or nothing");
  app.add_subcommand("version", "print the versions of program and schema");
}

}  // namespace
}  // namespace hostler

int main(int argc, char** argv) {
  using namespace hostler;
  CLI::App app("The operator's command line of Hostler.", "hostlerctl");
  Options options;
  add_commands(app, options);
  try {
    app.parse(argc, argv);
    return run(app, options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  } catch (const Error& error) {
    return fail(status_of(error.code), words_of(error));
  } catch (const std::exception& error) {
    return fail(exit_software, error.what());
  }
}
