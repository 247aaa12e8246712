// The rows that a run needs, for tests below the API: an organization, its owner, a model, threads.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/rigs/database.h"

namespace hostler::testing_support {

// Identity of a caller in the transaction that begins with begin_as.
struct RunFixture {
  // name: sets its users' logins apart from those of another one in the same database.
  explicit RunFixture(const TestDatabase& database, const std::string& name = "");

  // A thread of the owner with one message.
  std::string new_thread(const std::string& message = "hello");

  // The session acts as the owner (or another user) until it ends the transaction.
  void begin_as(postgres::DbSession& session, const std::string& user_id) const;
  // One statement of sql/queries as the owner, in a transaction of its own.
  postgres::Result as_owner(const postgres::BoundStatement& statement) const;
  // Returns what creates a run.
  static postgres::BoundStatement run_of(const std::string& thread_id,
                                         const std::string& strategy = "reject",
                                         int64_t active_max = 1000);
  // Creates a run of the thread and answers its id.
  std::string new_run(const std::string& thread_id, const std::string& strategy = "reject",
                      int64_t active_max = 1000) const;
  // A daemon that is registered; at the same place it has its predecessor's lock.
  std::string new_daemon(const std::string& place) const;
  static std::string lock_id_of(const std::string& place);
  // Returns what claims runs, as a daemon sends it that never found more than it could take.
  static postgres::BoundStatement claim_of(const std::string& daemon_id, int64_t limit);
  // Claims one run for the daemon; answers its epoch, 0 when there was none.
  int64_t claim(const std::string& daemon_id, const std::string& run_id) const;

  std::string column(const std::string& text) const;  // the first field of an SQL text's answer

  const TestDatabase& database;
  std::string org_id;
  std::string owner_id;
  std::string other_id;  // a member of the same organization
  std::string model_id;
};

}  // namespace hostler::testing_support
