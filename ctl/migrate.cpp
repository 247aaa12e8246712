// Applies migrations: compares what the database has with what there is, then runs what is missing,
// each in a transaction of its own, as hostler_owner, one migrate at a time.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ctl/answers.h"
#include "ctl/migrations.h"
#include "ctl/owner_session.h"
#include "lib/json.h"
#include "queries/operator.h"

namespace hostler {
namespace {

struct Applied {
  std::string version;
  std::string name;
  std::string checksum;
  std::string applied_at;
};

std::string up_to_date(const std::vector<Migration>& migrations) {
  return fmt::format("Nothing to do: the schema is at {}.\n", migrations.back().version);
}

void wait_for_turn(DbSession& session) {
  if (session.run(query::migrate_try_lock).front().boolean("is_mine")) return;
  tell("Waiting for another hostlerctl migrate of this database to end.");
  session.run(query::migrate_lock);
}

std::vector<Applied> applied_migrations(DbSession& session) {
  std::vector<Applied> applied;
  if (session.run(query::migrations_table_exists).text() != "t") return applied;
  Result rows = session.run(query::migrations_applied);
  for (int i = 0; i < rows.size(); ++i) {
    applied.push_back({std::string(rows[i].text("version")), std::string(rows[i].text("name")),
                       rows[i].bytes("checksum"), std::string(rows[i].text("applied_at"))});
  }
  return applied;
}

// The applied ones must be the first of what there is, unchanged.
std::optional<std::string> mismatch(const std::vector<Migration>& migrations,
                                    const std::vector<Applied>& applied) {
  for (size_t i = 0; i < applied.size(); ++i) {
    const Applied& was = applied[i];
    if (i >= migrations.size() || was.version > migrations.back().version) {
      return fmt::format(
          "the database has migration {} ({}), which is newer than this program's {}", was.version,
          was.name, migrations.back().version);
    }
    const Migration& migration = migrations[i];
    if (migration.version != was.version) {
      return fmt::format("migration {} is to be applied before {}, which the database has already",
                         std::min(migration.version, was.version),
                         std::max(migration.version, was.version));
    }
    if (migration.checksum != was.checksum) {
      return fmt::format(
          "migration {} ({}) was applied with another text on {}; an applied migration must never "
          "change: restore its text and put the change into a new one",
          was.version, migration.name, was.applied_at);
    }
  }
  return std::nullopt;
}

int print_status(const std::vector<Migration>& migrations, const std::vector<Applied>& applied,
                 bool as_json) {
  std::string lines;
  JsonWriter json;
  json.begin_array();
  for (size_t i = 0; i < migrations.size(); ++i) {
    bool is_applied = i < applied.size();
    const Migration& migration = migrations[i];
    json.begin_object().member("version", migration.version).member("name", migration.name);
    json.member("applied", is_applied);
    if (is_applied) {
      json.member("applied_at", applied[i].applied_at);
    } else {
      json.member_raw("applied_at", "null");
    }
    json.end_object();
    lines += fmt::format("{}  {:<24} {}\n", migration.version, migration.name,
                         is_applied ? applied[i].applied_at : "missing");
  }
  json.end_array();
  return answer(as_json, json.take(), lines);
}

// What is missing, as migrate would apply it.
int print_missing(const std::vector<Migration>& migrations, size_t begin, bool as_json) {
  std::string lines;
  JsonWriter json;
  json.begin_array();
  for (size_t i = begin; i < migrations.size(); ++i) {
    const Migration& migration = migrations[i];
    json.begin_object().member("version", migration.version).member("name", migration.name);
    json.end_object();
    lines += fmt::format("{}  {} would be applied\n", migration.version, migration.name);
  }
  json.end_array();
  if (lines.empty()) lines = up_to_date(migrations);
  return answer(as_json, json.take(), lines);
}

void apply(DbSession& session, const Migration& migration) {
  session.begin();
  session.run(query::migration_limits);
  session.run_text(migration.text);
  session.run(query::migration_record, Params()
                                           .text(migration.version)
                                           .text(migration.name)
                                           .bytes(migration.checksum)
                                           .text(migration.compatible_from));
  session.commit();
}

// The transaction of a migration that failed ends with the session.
int apply_missing(DbSession& session, const std::vector<Migration>& migrations, size_t begin,
                  bool as_json) {
  JsonWriter json;
  json.begin_object().key("applied").begin_array();
  for (size_t i = begin; i < migrations.size(); ++i) {
    const Migration& migration = migrations[i];
    // Said before: a failure is then told under the migration's name.
    fmt::print(as_json ? stderr : stdout, "{}  {} … ", migration.version, migration.name);
    std::fflush(stdout);
    apply(session, migration);
    fmt::print(as_json ? stderr : stdout, "applied\n");
    json.text(migration.version);
  }
  json.end_array().member("schema_version", migrations.back().version).end_object();
  return answer(as_json, json.take(), begin == migrations.size() ? up_to_date(migrations) : "");
}

}  // namespace

int migrate(const MigrateOptions& options) {
  std::vector<Migration> migrations =
      options.folder.empty() ? migrations_of_program() : migrations_of_folder(options.folder);
  OwnerSession owner = open_as_owner(options.database_url, "hostlerctl migrate");
  if (!owner.session) return fail(exit_no_permission, owner.refusal);
  DbSession& session = *owner.session;
  if (!options.status_only && !options.dry_run) wait_for_turn(session);
  std::vector<Applied> applied = applied_migrations(session);
  std::optional<std::string> fault = mismatch(migrations, applied);
  if (fault) return fail(exit_bad_input, *fault);
  if (options.status_only) return print_status(migrations, applied, options.as_json);
  if (options.dry_run) return print_missing(migrations, applied.size(), options.as_json);
  return apply_missing(session, migrations, applied.size(), options.as_json);
}

void add_migrate_command(CommandLine& line) {
  auto options = std::make_shared<MigrateOptions>();
  CLI::App& command = line.command("migrate", "apply the migrations that database.url lacks",
                                   [options](const CommandCall& call) {
                                     options->database_url = call.settings().text("database.url");
                                     options->as_json = call.as_json;
                                     return migrate(*options);
                                   });
  CLI::Option* status =
      command.add_flag("--status", options->status_only, "only list what is applied");
  command.add_flag("--dry-run", options->dry_run, "only say what would be applied")
      ->excludes(status);
  command
      .add_option("--directory", options->folder,
                  "take migrations from here instead of the program's own")
      ->type_name("DIR");
}

}  // namespace hostler
