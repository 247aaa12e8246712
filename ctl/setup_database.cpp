// Roles and database; see ctl/setup_database.h.
#include "ctl/setup_database.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ctl/migrate.h"
#include "ctl/output.h"
#include "lib/json.h"
#include "lib/postgres/session.h"
#include "queries/operator.h"

namespace hostler {

namespace {

// What a setup did, or would do.
struct Account {
  std::string lines;
  bool created_database = false;
};

void make_operator(postgres::DbSession& cluster, const std::string& role, Account& account) {
  postgres::Result text = cluster.run(query::SetupOperatorText{.role = role});
  if (text.empty()) return;
  cluster.run_text(std::string(text.text()));
  account.lines += fmt::format("role {} may act as hostler_owner\n", role);
}

// Postgres would name a statement that nobody typed.
std::optional<std::string> why_not_allowed(postgres::DbSession& cluster,
                                           const SetupDatabase& options) {
  postgres::Result facts = cluster.run(query::SetupMayCreate{});
  bool is_all_there =
      cluster.run(query::SetupMissingRoles{}).empty() &&
      !cluster.run(query::DatabaseForm{.name = options.database}).empty() &&
      (options.operator_role.empty() ||
       cluster.run(query::SetupOperatorText{.role = options.operator_role}).empty());
  if (is_all_there || facts.front().boolean("may_create")) return std::nullopt;
  return fmt::format(
      "the role {} may not make roles and databases: name a superuser in --superuser-url; on the "
      "host of Postgres that is who says it behind `runuser -u postgres --`",
      facts.front().text("session_role"));
}

// Why a database that is there is not taken. An order that comes from the system's locales changes
// with their upgrades, and indexes that were built in the old one then miss rows.
std::optional<std::string> why_unfit(const postgres::Result& found, const std::string& database) {
  const postgres::Row& form = found.front();
  if (form.text("encoding") != "UTF8") {
    return fmt::format("database {} exists with the encoding {}; Hostler needs UTF8", database,
                       form.text("encoding"));
  }
  if (form.boolean("orders_by_code_point")) return std::nullopt;
  return fmt::format(
      "database {} exists with the locale {}; Hostler needs C.UTF-8, whose order no upgrade of the "
      "system changes. Name another database, which setup-database then creates, or recreate this "
      "one: pg_dump, DROP DATABASE, CREATE DATABASE … TEMPLATE template0 LOCALE 'C.UTF-8', "
      "pg_restore",
      database, form.text("locale"));
}

int make_ready(postgres::DbSession& cluster, const SetupDatabase& options, Account& account) {
  cluster.run(query::SetupLock{});
  std::optional<std::string> refusal = why_not_allowed(cluster, options);
  if (refusal) return fail(exit_no_permission, *refusal);
  cluster.run(query::SetupRoles{});
  if (!options.operator_role.empty()) make_operator(cluster, options.operator_role, account);
  postgres::Result found = cluster.run(query::DatabaseForm{.name = options.database});
  account.created_database = found.empty();
  if (found.empty()) {
    postgres::Result text = cluster.run(query::CreateDatabaseText{.name = options.database});
    cluster.run_text(std::string(text.text()));
    account.lines += fmt::format("database {} made\n", options.database);
  } else if (std::optional<std::string> misfit = why_unfit(found, options.database)) {
    return fail(exit_bad_input, *misfit);
  }
  postgres::DbSession inside(cluster.at_this_server(options.superuser_url),
                             "hostlerctl setup-database", options.database);
  inside.run(query::SetupDatabase{});
  account.lines += fmt::format("database {} is ready for hostlerctl migrate\n", options.database);
  return exit_ok;
}

// Returns whether there is a database that migrate could look at.
bool report_missing(postgres::DbSession& cluster, const SetupDatabase& options, Account& account) {
  postgres::Result roles = cluster.run(query::SetupMissingRoles{});
  for (int i = 0; i < roles.size(); ++i) {
    account.lines += fmt::format("role {} would be made\n", roles[i].text("name"));
  }
  postgres::Result found = cluster.run(query::DatabaseForm{.name = options.database});
  std::optional<std::string> misfit;
  if (!found.empty()) misfit = why_unfit(found, options.database);
  account.lines += misfit ? fmt::format("refused: {}\n", *misfit)
                          : fmt::format("database {} {}\n", options.database,
                                        found.empty() ? "would be made" : "is there");
  if (misfit) return false;
  return !found.empty() && roles.empty();
}

}  // namespace

int setup_database(const SetupDatabase& options) {
  postgres::conninfo_with(options.superuser_url, {});  // one that is none is no Postgres away
  postgres::DbSession cluster(options.superuser_url, "hostlerctl setup-database");
  Account account;
  cluster.on_notice(
      [&account](std::string_view notice) { account.lines += fmt::format("{}\n", notice); });
  bool can_migrate = true;
  if (options.dry_run) {
    can_migrate = report_missing(cluster, options, account);
  } else if (int status = make_ready(cluster, options, account); status != exit_ok) {
    return status;
  }
  JsonWriter json;
  json.begin_object().member("database", options.database);
  json.member("made", account.created_database).end_object();
  answer(options.as_json, json.take(), account.lines);
  if (!can_migrate || !options.applies_migrations) return exit_ok;
  std::fflush(stdout);
  MigrateOptions migrations;
  migrations.database_url = postgres::conninfo_with(cluster.at_this_server(options.superuser_url),
                                                    {{"dbname", options.database}});
  migrations.dry_run = options.dry_run;
  migrations.as_json = options.as_json;
  return migrate(migrations);
}

void add_setup_database_command(CommandLine& line) {
  auto options = std::make_shared<SetupDatabase>();
  CommandWord command = line.command("setup-database", "make roles and database; may be repeated",
                                     [options](const CommandCall& call) {
                                       options->as_json = call.as_json;
                                       return setup_database(*options);
                                     });
  line.needs_no_settings(command);
  command.add_option("--superuser-url", options->superuser_url, "how to connect as a superuser")
      .type_name("URL")
      .required();
  command.add_option("--database", options->database, "the database to make ready")
      .type_name("NAME")
      .shows_default();
  command
      .add_option("--operator", options->operator_role, "a role that may work as hostlerctl does")
      .type_name("ROLE");
  command.add_flag("--migrate", options->applies_migrations, "apply the migrations as well");
  command.add_flag("--dry-run", options->dry_run, "only say what would be done");
}

}  // namespace hostler
