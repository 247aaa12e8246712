// Roles and database; see ctl/setup_database.h.
#include "ctl/setup_database.h"

#include <memory>

#include <fmt/format.h>

#include "ctl/answers.h"
#include "lib/json.h"
#include "lib/loop/db_session.h"
#include "queries/operator.h"

namespace hostler {

int setup_database(const std::string& superuser_url, const std::string& database, bool as_json) {
  DbSession cluster(superuser_url, "hostlerctl setup-database");
  std::string lines;
  cluster.on_notice([&lines](std::string_view notice) { lines += fmt::format("{}\n", notice); });
  cluster.run(query::setup_lock);
  cluster.run(query::setup_roles);
  Result found = cluster.run(query::database_encoding, Params().text(database));
  if (found.empty()) {
    Result text = cluster.run(query::create_database_text, Params().text(database));
    cluster.run_text(std::string(text.text()));
    lines += fmt::format("database {} made\n", database);
  } else if (found.text() != "UTF8") {
    return fail(exit_bad_input,
                fmt::format("database {} exists with the encoding {}; Hostler needs UTF8", database,
                            found.text()));
  }
  DbSession inside(superuser_url, "hostlerctl setup-database", database);
  inside.run(query::setup_database);
  lines += fmt::format("database {} is ready for hostlerctl migrate\n", database);
  JsonWriter json;
  json.begin_object().member("database", database).member("made", found.empty()).end_object();
  return answer(as_json, json.take(), lines);
}

void add_setup_database_command(CommandLine& line) {
  auto url = std::make_shared<std::string>();
  auto database = std::make_shared<std::string>("hostler");
  CLI::App& command = line.command("setup-database", "make roles and database; may be repeated",
                                   [url, database](const CommandCall& call) {
                                     return setup_database(*url, *database, call.as_json);
                                   });
  command.add_option("--superuser-url", *url, "how to connect as a superuser")
      ->type_name("URL")
      ->required();
  command.add_option("--database", *database, "the database to make ready")
      ->type_name("NAME")
      ->capture_default_str();
}

}  // namespace hostler
