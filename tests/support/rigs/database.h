// A database of its own for a test, with the schema: a copy of a template that the real hostlerctl
// made (setup-database, migrate) once for all tests of a build. Dropped when the object ends.
//
// Needs TEST_DATABASE_URL: a superuser of a cluster that nobody misses (tests/run starts one).
#pragma once

#include <string>

#include "lib/postgres/session.h"

namespace hostler::testing_support {

// The cluster, or a failure that says what is missing.
const std::string& test_cluster_url();

// A new name for a database of this run. TEST_DATABASE_PREFIX instead of "test" when it is set.
std::string new_database_name();
// Works also when somebody is connected, or without a database.
void drop_database(const std::string& name);

class TestDatabase {
 public:
  TestDatabase();
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& name() const { return name_; }
  // For HOSTLER_DATABASE_URL, DatabaseOptions::conninfo, DbSession.
  std::string superuser_url() const;
  std::string api_url() const;     // as hostler_api, under row-level security
  std::string runner_url() const;  // as hostler_runner

  // The server's unix socket, for a line in between (faulty_proxy.h).
  static std::string socket();

  // A waiting connection; for text that is nobody's statement: session.run_text("SELECT …").
  postgres::DbSession as_superuser() const;
  postgres::DbSession as_api() const;
  postgres::DbSession as_runner() const;

 private:
  std::string name_;
};

}  // namespace hostler::testing_support
