// See tests/support/rigs/older_schema.h.
#include "tests/support/rigs/older_schema.h"

#include <stdexcept>

#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

void run_well(const std::vector<std::string>& command, const std::string& url) {
  ProgramRun run = run_ctl(command, {"HOSTLER_DATABASE_URL=" + url});
  if (run.status != 0) throw std::runtime_error("hostlerctl " + command[0] + ": " + run.err);
}

}  // namespace

OlderSchema::OlderSchema() : name_(new_database_name()) {
  run_well({"setup-database", "--superuser-url", test_cluster_url(), "--database", name_}, url());
  ProgramRun load = run_program({"/bin/bash", "-c",
                                 "set -o pipefail; gunzip -c tests/sql/data/preview.sql.gz | "
                                 "psql -XqAt -v ON_ERROR_STOP=1 \"$URL\""},
                                {"URL=" + url()});
  if (load.status != 0) throw std::runtime_error("psql: " + load.err);
  session_ = std::make_unique<postgres::DbSession>(url(), "older schema");
}

OlderSchema::~OlderSchema() { drop_database(name_); }

void OlderSchema::upgrade() { run_well({"migrate"}, url()); }

std::string OlderSchema::column(const std::string& text) {
  postgres::Result result = session_->run_text(text);
  return result.empty() ? "" : std::string(result.text());
}

std::string OlderSchema::url() const {
  return postgres::conninfo_with(test_cluster_url(), {{"dbname", name_}});
}

}  // namespace hostler::testing_support
