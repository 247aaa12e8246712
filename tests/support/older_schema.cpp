// See tests/support/older_schema.h.
#include "tests/support/older_schema.h"

#include <filesystem>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/support/database.h"
#include "tests/support/run_program.h"

namespace hostler::testing_support {
namespace {

namespace fs = std::filesystem;

void run_well(const std::vector<std::string>& command, const std::string& url) {
  ProgramRun run = run_ctl(command, {"HOSTLER_DATABASE_URL=" + url});
  if (run.status != 0) throw std::runtime_error("hostlerctl " + command[0] + ": " + run.err);
}

}  // namespace

OlderSchema::OlderSchema(const std::string& first_missing) : name_(new_database_name()) {
  fs::path folder = testing::TempDir() + name_;
  fs::create_directories(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator("sql/migrations")) {
    std::string file = entry.path().filename();
    if (file < first_missing) fs::copy_file(entry.path(), folder / file);
  }
  run_well({"setup-database", "--superuser-url", test_cluster_url(), "--database", name_}, url());
  run_well({"migrate", "--directory", folder}, url());
  fs::remove_all(folder);
  session_ = std::make_unique<DbSession>(url(), "older schema");
}

OlderSchema::~OlderSchema() { drop_database(name_); }

void OlderSchema::upgrade() { run_well({"migrate"}, url()); }

std::string OlderSchema::column(const std::string& text) {
  Result result = session_->run_text(text);
  return result.empty() ? "" : std::string(result.text());
}

std::string OlderSchema::url() const {
  return conninfo_with(test_cluster_url(), {{"dbname", name_}});
}

}  // namespace hostler::testing_support
