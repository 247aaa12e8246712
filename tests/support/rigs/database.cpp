// Makes template and copies; see tests/support/rigs/database.h.
#include "tests/support/rigs/database.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/error.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

std::string name_prefix() {
  const char* prefix = std::getenv("TEST_DATABASE_PREFIX");
  return prefix == nullptr ? "test" : prefix;
}

postgres::DbSession cluster_session() { return {test_cluster_url(), "test database"}; }

void must_end_well(const ProgramRun& run, std::string_view what) {
  if (run.status == 0) return;
  throw std::runtime_error(
      fmt::format("hostlerctl {} ended with {}: {}", what, run.status, run.err));
}

// A newer hostlerctl means another template.
std::string template_name() {
  std::ifstream program(build_folder() + "/hostlerctl", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(program), {}};
  if (bytes.empty()) throw std::runtime_error(build_folder() + "/hostlerctl is not built");
  return fmt::format("{}_template_{}", name_prefix(), to_hex(sha256(bytes)).substr(0, 12));
}

// One process makes it, the others wait for the lock. Half-made ones have another name.
std::string make_template() {
  std::string name = template_name();
  postgres::DbSession cluster = cluster_session();
  cluster.run_text("SELECT pg_advisory_lock(hashtext('hostler test template'))");
  postgres::Result found =
      cluster.run_text(fmt::format("SELECT FROM pg_database WHERE datname = '{}'", name));
  if (!found.empty()) return name;
  std::string unfinished = name + "_new";
  cluster.run_text(fmt::format("DROP DATABASE IF EXISTS {} WITH (FORCE)", unfinished));
  must_end_well(
      run_ctl({"setup-database", "--superuser-url", test_cluster_url(), "--database", unfinished}),
      "setup-database");
  std::string url = postgres::conninfo_with(test_cluster_url(), {{"dbname", unfinished}});
  must_end_well(run_ctl({"migrate"}, {"HOSTLER_DATABASE_URL=" + url}), "migrate");
  cluster.run_text(fmt::format("ALTER DATABASE {} RENAME TO {}", unfinished, name));
  return name;
}

}  // namespace

const std::string& test_cluster_url() {
  static const std::string url = [] {
    const char* text = std::getenv("TEST_DATABASE_URL");
    if (text == nullptr || *text == '\0') {
      throw std::runtime_error(
          "TEST_DATABASE_URL is not set: the URL of a superuser of a cluster for tests; `make "
          "test` "
          "makes one");
    }
    return std::string(text);
  }();
  return url;
}

std::string new_database_name() {
  test_cluster_url();
  return fmt::format("{}_{}_{}", name_prefix(), getpid(), to_hex(random_bytes(6)));
}

void drop_database(const std::string& name) {
  cluster_session().run_text(fmt::format("DROP DATABASE IF EXISTS {} WITH (FORCE)", name));
}

TestDatabase::TestDatabase() : name_(new_database_name()) {
  static const std::string source = make_template();
  postgres::DbSession cluster = cluster_session();
  cluster.run_text(
      fmt::format("CREATE DATABASE {} TEMPLATE {} OWNER hostler_owner", name_, source));
  // A copy does not take over who may connect.
  cluster.run_text(fmt::format("REVOKE ALL ON DATABASE {} FROM PUBLIC", name_));
  cluster.run_text(
      fmt::format("GRANT CONNECT ON DATABASE {} TO hostler_api, hostler_runner", name_));
}

TestDatabase::~TestDatabase() {
  // A test may have stopped the cluster; what it left goes with it.
  try {
    drop_database(name_);
  } catch (const Error& error) {
    fmt::print(stderr, "{} is not dropped: {}\n", name_, error.cause);
  }
}

std::string TestDatabase::superuser_url() const {
  return postgres::conninfo_with(test_cluster_url(), {{"dbname", name_}});
}
std::string TestDatabase::api_url() const {
  return postgres::conninfo_with(test_cluster_url(), {{"dbname", name_}, {"user", "hostler_api"}});
}
std::string TestDatabase::runner_url() const {
  return postgres::conninfo_with(test_cluster_url(),
                                 {{"dbname", name_}, {"user", "hostler_runner"}});
}

std::string TestDatabase::socket() {
  return std::string(
      cluster_session()
          .run_text("SELECT split_part(current_setting('unix_socket_directories'), ',', 1) || "
                    "'/.s.PGSQL.' || current_setting('port')")
          .text());
}

postgres::DbSession TestDatabase::as_superuser() const {
  return {superuser_url(), "test as superuser"};
}
postgres::DbSession TestDatabase::as_api() const { return {api_url(), "test as api"}; }
postgres::DbSession TestDatabase::as_runner() const { return {runner_url(), "test as runner"}; }

}  // namespace hostler::testing_support
