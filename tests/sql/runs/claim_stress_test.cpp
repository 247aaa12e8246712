// Many daemons claim from one queue: each run is given to one of them, once, under an epoch that
// nobody else had. The check is first shown to see a claim that reads before it writes.
//
// CLAIM_STRESS_RUNS (300; `make soak`: 20000).
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "queries/runs.h"
#include "tests/support/parameters.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::parameter;
using testing_support::RunFixture;
using testing_support::TestDatabase;

constexpr int claimers = 8;
constexpr int claimed_at_once = 20;

// By each claimer, what it was given: "run epoch".
using Claims = std::vector<std::vector<std::string>>;

// Returns what is wrong with the claims; empty: each of so many was given once.
std::string faults(const Claims& claims, size_t expected) {
  std::set<std::string> given;
  size_t count = 0;
  for (const std::vector<std::string>& one : claims) {
    count += one.size();
    for (const std::string& claim : one) given.insert(claim.substr(0, claim.find(' ')));
  }
  std::string stated;
  if (given.size() < expected)
    stated += fmt::format("{} were never given; ", expected - given.size());
  if (count > given.size()) stated += fmt::format("{} were given again; ", count - given.size());
  return stated;
}

template <class Claim>
Claims claim_all(const TestDatabase& database, Claim claim) {
  Claims claims(claimers);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < claimers; ++i) {
    threads.emplace_back([&, i] {
      postgres::DbSession session = database.as_runner();
      while (claim(session, i, claims[i])) continue;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return claims;
}

class ClaimStress : public testing::Test {
 protected:
  // One connection for all of them.
  void make_runs(int count) {
    std::vector<std::string> threads;
    for (int i = 0; i < count; ++i) threads.push_back(fixture_.new_thread());
    postgres::DbSession session = database_.as_api();
    for (const std::string& thread_id : threads) {
      fixture_.begin_as(session, fixture_.owner_id);
      session.run(RunFixture::run_of(thread_id, "reject", 1'000'000));
      session.commit();
    }
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(ClaimStress, GivesEachRunToOneDaemonOnce) {
  int runs = static_cast<int>(parameter("CLAIM_STRESS_RUNS", 300));
  make_runs(runs);
  std::vector<std::string> daemons;
  for (int i = 0; i < claimers; ++i) daemons.push_back(fixture_.new_daemon(fmt::format("d{}", i)));
  Claims claims = claim_all(database_, [&](postgres::DbSession& session, size_t i, auto& given) {
    postgres::Result claimed = session.run(RunFixture::claim_of(daemons[i], claimed_at_once));
    for (int row = 0; row < claimed.size(); ++row) {
      given.push_back(fmt::format("{} {}", claimed[row].text("id"), claimed[row].integer("epoch")));
    }
    return claimed.size() > 0;
  });
  EXPECT_EQ(faults(claims, static_cast<size_t>(runs)), "");
  std::set<std::string> epochs;
  for (const auto& one : claims) {
    for (const std::string& claim : one) epochs.insert(claim.substr(claim.find(' ')));
  }
  EXPECT_EQ(epochs.size(), static_cast<size_t>(runs)) << "an epoch was given twice";
}

// Reads what is free, then takes it: what everybody writes first.
TEST_F(ClaimStress, CatchesAClaimThatReadsBeforeItWrites) {
  postgres::DbSession superuser = database_.as_superuser();
  superuser.run_text(
      "CREATE TABLE naive (id integer PRIMARY KEY, owner integer);"
      "GRANT ALL ON naive TO PUBLIC;"
      "INSERT INTO naive SELECT n, NULL FROM generate_series(1, 400) n");
  Claims claims = claim_all(database_, [&](postgres::DbSession& session, size_t i, auto& given) {
    postgres::Result free =
        session.run_text("SELECT id FROM naive WHERE owner IS NULL ORDER BY id LIMIT 20");
    for (int row = 0; row < free.size(); ++row) {
      session.run_text(
          fmt::format("UPDATE naive SET owner = {} WHERE id = {}", i, free[row].integer("id")));
      given.push_back(fmt::format("{} 1", free[row].integer("id")));
    }
    return free.size() > 0;
  });
  EXPECT_NE(faults(claims, 400).find("given again"), std::string::npos) << faults(claims, 400);
  EXPECT_NE(faults({{"a 1"}}, 2).find("never given"), std::string::npos);
}

}  // namespace
}  // namespace hostler
