// Roles and database; see ctl/setup_database.h.
#include "ctl/setup_database.h"

#include <fmt/format.h>

#include "ctl/answers.h"
#include "lib/loop/db_session.h"
#include "queries/operator.h"

namespace hostler {

int setup_database(const std::string& superuser_url, const std::string& database) {
  DbSession cluster(superuser_url, "hostlerctl setup-database");
  cluster.on_notice([](std::string_view notice) { print_out(fmt::format("{}\n", notice)); });
  cluster.run(query::setup_lock);
  cluster.run(query::setup_roles);
  Result found = cluster.run(query::database_encoding, Params().text(database));
  if (found.empty()) {
    Result text = cluster.run(query::create_database_text, Params().text(database));
    cluster.run_text(std::string(text.text()));
    print_out(fmt::format("database {} made\n", database));
  } else if (found.text() != "UTF8") {
    return fail(exit_bad_input,
                fmt::format("database {} exists with the encoding {}; Hostler needs UTF8", database,
                            found.text()));
  }
  DbSession inside(superuser_url, "hostlerctl setup-database", database);
  inside.run(query::setup_database);
  print_out(fmt::format("database {} is ready for hostlerctl migrate\n", database));
  return exit_ok;
}

}  // namespace hostler
