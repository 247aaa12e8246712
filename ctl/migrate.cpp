// Compares what the database has with the schema, then applies what is missing, as hostler_owner,
// one migrate at a time: to an empty database the whole schema in one transaction; to an older one
// each migration in a transaction of its own and the functions with the last; to one of the same
// version the functions, when their text is another.
#include "ctl/migrate.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "ctl/schema.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "queries/operator.h"

namespace hostler {
namespace {

// The last version before versions were counted by sql/VERSION.
constexpr std::string_view preview_version = "00045";

struct Applied {
  std::string version;
  std::string name;
  std::string checksum;
  std::string applied_at;
};

// State of the database.
struct Found {
  std::vector<Applied> applied;    // in the order of their versions; empty: nothing is there
  std::string functions_checksum;  // empty: none was recorded
  bool is_preview = false;         // made before versions were counted by sql/VERSION
  std::string version() const { return applied.empty() ? "" : applied.back().version; }
};

// Steps to do, in this order.
struct Plan {
  bool makes_all = false;  // an empty database
  std::vector<const Migration*> migrations;
  bool replaces_functions = false;
  bool is_empty() const { return !makes_all && migrations.empty() && !replaces_functions; }
};

void wait_for_turn(postgres::DbSession& session) {
  if (session.run(query::MigrateTryLock{}).front().boolean("is_mine")) return;
  print_err("Waiting for another hostlerctl migrate of this database to end.");
  session.run(query::MigrateLock{});
}

Found look(postgres::DbSession& session) {
  Found found;
  postgres::Result tables = session.run(query::SchemaTables{});
  if (!tables.front().boolean("has_migrations")) return found;
  postgres::Result rows = session.run(query::MigrationsApplied{});
  for (int i = 0; i < rows.size(); ++i) {
    found.applied.push_back({std::string(rows[i].text("version")),
                             std::string(rows[i].text("name")), rows[i].bytes("checksum"),
                             std::string(rows[i].text("applied_at"))});
  }
  found.is_preview = !tables.front().boolean("has_functions");
  if (!found.is_preview) {
    postgres::Result functions = session.run(query::SchemaFunctionsChecksum{});
    if (!functions.empty()) found.functions_checksum = functions.front().bytes("checksum");
  }
  return found;
}

// Why the database cannot be brought to this schema.
std::optional<std::string> mismatch(const Schema& schema, const Found& found) {
  if (found.is_preview) {
    if (found.version() == preview_version) return std::nullopt;
    return fmt::format(
        "the database comes from a build between releases ({}); only {} can be brought to {}",
        found.version(), schema.version, preview_version);
  }
  if (found.version() > schema.version) {
    return fmt::format("the database has version {}, which is newer than this program's {}; {}",
                       found.version(), schema.version, newer_schema_mend);
  }
  for (const Migration& migration : schema.migrations) {
    if (found.applied.empty() || migration.version < found.applied.front().version) continue;
    auto previous =
        std::find_if(found.applied.begin(), found.applied.end(),
                     [&](const Applied& row) { return row.version == migration.version; });
    if (previous == found.applied.end()) {
      if (migration.version > found.version()) continue;
      return fmt::format("migration {} belongs before {}, which the database already has",
                         migration.version, found.version());
    }
    if (previous->checksum != migration.checksum) {
      return fmt::format(
          "migration {} ({}) was applied with another text on {}; an applied migration must never "
          "change, so restore its text and put the change into a new one",
          previous->version, migration.name, previous->applied_at);
    }
  }
  return std::nullopt;
}

Plan plan_of(const Schema& schema, const Found& found, const std::string& functions_checksum) {
  Plan plan;
  plan.makes_all = found.applied.empty();
  if (plan.makes_all) return plan;
  for (const Migration& migration : schema.migrations) {
    if (found.is_preview || migration.version > found.version())
      plan.migrations.push_back(&migration);
  }
  plan.replaces_functions =
      !plan.migrations.empty() || functions_checksum != found.functions_checksum;
  return plan;
}

std::vector<std::pair<std::string, std::string>> steps_of(const Schema& schema, const Plan& plan) {
  std::vector<std::pair<std::string, std::string>> steps;
  if (plan.makes_all) steps.emplace_back(schema.version, "the whole schema");
  for (const Migration* migration : plan.migrations)
    steps.emplace_back(migration->version, migration->name);
  if (plan.replaces_functions) steps.emplace_back(schema.version, "the functions");
  return steps;
}

std::string up_to_date(const Schema& schema) {
  return fmt::format("Nothing to do: the schema is at {}.\n", schema.version);
}

int print_status(const Found& found, const Schema& schema, const Plan& plan, bool as_json) {
  std::string lines;
  JsonWriter json;
  json.begin_array();
  auto add = [&](const std::string& version, const std::string& name,
                 const std::string& applied_at) {
    json.begin_object().member("version", version).member("name", name);
    json.member("applied", !applied_at.empty());
    if (applied_at.empty()) {
      json.member_raw("applied_at", "null");
    } else {
      json.member("applied_at", applied_at);
    }
    json.end_object();
    lines +=
        fmt::format("{}  {:<24} {}\n", version, name, applied_at.empty() ? "missing" : applied_at);
  };
  for (const Applied& row : found.applied) add(row.version, row.name, row.applied_at);
  for (const auto& [version, name] : steps_of(schema, plan)) add(version, name, "");
  json.end_array();
  return answer(as_json, json.take(), lines);
}

// Missing steps, as migrate would apply them.
int print_missing(const Schema& schema, const Plan& plan, bool as_json) {
  std::string lines;
  JsonWriter json;
  json.begin_array();
  for (const auto& [version, name] : steps_of(schema, plan)) {
    json.begin_object().member("version", version).member("name", name).end_object();
    lines += fmt::format("{}  {} would be applied\n", version, name);
  }
  json.end_array();
  if (lines.empty()) lines = up_to_date(schema);
  return answer(as_json, json.take(), lines);
}

void record(postgres::DbSession& session, const Migration& migration) {
  session.run(query::MigrationRecord{.version = migration.version,
                                     .name = migration.name,
                                     .checksum = migration.checksum,
                                     .compatible_from = migration.compatible_from});
}

void replace_functions(postgres::DbSession& session, const std::string& functions,
                       const std::string& checksum) {
  session.run_text(functions);
  session.run(query::SchemaFunctionsRecord{.checksum = checksum});
}

// Says each step before it begins: a failure is then told under its name. The transaction of one
// that failed ends with the session.
class Steps {
 public:
  Steps(postgres::DbSession& session, bool as_json)
      : session_(session), out_(as_json ? stderr : stdout) {}
  void begin(std::string_view version, std::string_view name) {
    fmt::print(out_, "{}  {} … ", version, name);
    std::fflush(stdout);
    session_.begin();
    session_.run(query::MigrationLimits{});
  }
  void commit() {
    session_.commit();
    fmt::print(out_, "applied\n");
  }

 private:
  postgres::DbSession& session_;
  std::FILE* out_;
};

int apply(postgres::DbSession& session, const Schema& schema, const Plan& plan,
          const std::string& functions, bool as_json) {
  Steps steps(session, as_json);
  JsonWriter json;
  json.begin_object().key("applied").begin_array();
  std::string checksum = sha256(functions);
  if (plan.makes_all) {
    steps.begin(schema.version, "the whole schema");
    session.run_text(whole_schema(schema));
    // The way here is part of it, because later programs ask which versions this one is compatible
    // with.
    for (const Migration& migration : schema.migrations) record(session, migration);
    session.run(query::SchemaFunctionsRecord{.checksum = checksum});
    steps.commit();
    json.text(schema.version);
  }
  for (const Migration* migration : plan.migrations) {
    steps.begin(migration->version, migration->name);
    session.run_text(migration->text);
    record(session, *migration);
    if (migration == plan.migrations.back()) replace_functions(session, functions, checksum);
    steps.commit();
    json.text(migration->version);
  }
  if (plan.replaces_functions && plan.migrations.empty()) {
    steps.begin(schema.version, "the functions");
    replace_functions(session, functions, checksum);
    steps.commit();
  }
  json.end_array().member("schema_version", schema.version).end_object();
  return answer(as_json, json.take(), plan.is_empty() ? up_to_date(schema) : "");
}

}  // namespace

int migrate(const MigrateOptions& options) {
  Schema schema = options.folder.empty() ? schema_of_program() : schema_of_folder(options.folder);
  OwnerSession owner = open_as_owner(options.database_url, "hostlerctl migrate");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::DbSession& session = *owner.session;
  if (!options.status_only && !options.dry_run) wait_for_turn(session);
  Found found = look(session);
  std::optional<std::string> fault = mismatch(schema, found);
  if (fault) return fail(exit_bad_input, *fault);
  std::string functions = functions_of(schema);
  Plan plan = plan_of(schema, found, sha256(functions));
  if (options.status_only) return print_status(found, schema, plan, options.as_json);
  if (options.dry_run) return print_missing(schema, plan, options.as_json);
  return apply(session, schema, plan, functions, options.as_json);
}

void add_migrate_command(CommandLine& line) {
  auto options = std::make_shared<MigrateOptions>();
  CommandWord command =
      line.command("migrate", "bring the schema of database.url to this program's",
                   [options](const CommandCall& call) {
                     options->database_url = call.settings().text("database.url");
                     options->as_json = call.as_json;
                     return migrate(*options);
                   });
  CommandOption status =
      command.add_flag("--status", options->status_only, "only list the applied migrations");
  command.add_flag("--dry-run", options->dry_run, "only print what would be applied")
      .excludes(status);
  command
      .add_option("--directory", options->folder,
                  "take the schema from here, a folder like sql/, instead of the program's own")
      .type_name("DIR");
}

}  // namespace hostler
