// When more runs wait than a daemon has slots for, organizations take turns, and in them those who
// created the runs; a claim reads few of them, however many wait.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "runner/agent/round_robin.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

constexpr int crowd = 10'000;
constexpr long rows_read_max = 250;

class RoundRobinTest : public testing::Test {
 protected:
  // Runs that wait, each in a thread of its own.
  void make_waiting(const RunFixture& of, const std::string& user_id, int count) {
    database_.as_superuser().run_text(fmt::format(
        "SET session_replication_role = replica; "
        "WITH made AS (INSERT INTO threads (org_id, created_by_user_id) "
        "    SELECT '{0}', '{1}' FROM generate_series(1, {2}) RETURNING id) "
        "INSERT INTO runs (org_id, thread_id, created_by_user_id, source, trace_id, persona_id, "
        "    persona_row_id, model_id, model, provider_kind, credential_name) "
        "SELECT '{0}', made.id, '{1}', 'api', '', 'normal@1', p.id, '{3}', 'm', 'openai', 'p' "
        "FROM made, personas p WHERE p.persona_key = 'normal'",
        of.org_id, user_id, count, of.model_id));
  }

  query::RunClaim claim_of(int limit) const {
    runner::RoundRobin::Served served = round_robin_.served();
    runner::RoundRobin::Served round = round_robin_.round();
    return {.daemon_id = daemon_id_,
            .limit = limit,
            .message_bytes = 8192,
            .after_org_id = round_robin_.after_org_id(),
            .org_ids = served.org_ids,
            .user_ids = served.user_ids,
            .limit_agent_turns = 25,
            .limit_tool_calls = 32,
            .limit_run_seconds = 1800,
            .round_org_ids = round.org_ids,
            .round_user_ids = round.user_ids};
  }

  // Runs that got a slot, in the order of the turns: "organization creator".
  std::vector<std::string> claim(int limit) {
    postgres::DbSession session = database_.as_runner();
    postgres::Result claimed = session.run(claim_of(limit));
    std::map<int64_t, std::pair<std::string, std::string>> in_order;
    for (int i = 0; i < claimed.size(); ++i) {
      in_order.emplace(claimed[i].integer("served_nth"),
                       std::pair{std::string(claimed[i].text("org_id")),
                                 std::string(claimed[i].text("created_by_user_id"))});
    }
    std::vector<std::string> actor;
    for (const auto& [nth, taker] : in_order) {
      round_robin_.took(taker.first, taker.second);
      actor.push_back(taker.first + " " + taker.second);
    }
    round_robin_.claim_ended();
    return actor;
  }

  TestDatabase database_;
  RunFixture first_{database_, "1"};
  RunFixture second_{database_, "2"};
  RunFixture third_{database_, "3"};
  std::string daemon_id_ = first_.new_daemon("/run/d.sock");
  runner::RoundRobin round_robin_;
};

TEST_F(RoundRobinTest, ACrowdOfOneOrganizationHoldsUpNobodyElse) {
  make_waiting(first_, first_.owner_id, crowd);
  make_waiting(second_, second_.owner_id, 1);
  std::vector<std::string> actor = claim(1);
  actor.push_back(claim(1).at(0));
  std::set<std::string> both(actor.begin(), actor.end());
  EXPECT_TRUE(both.contains(second_.org_id + " " + second_.owner_id));
  EXPECT_EQ(claim(20).size(), 20U) << "the rest of the slots is the crowd's";
}

TEST_F(RoundRobinTest, OrganizationsTakeTurnsWhenThereAreMoreOfThemThanSlots) {
  for (const RunFixture* of : {&first_, &second_, &third_}) make_waiting(*of, of->owner_id, 4);
  std::map<std::string, int> taken;
  for (int i = 0; i < 9; ++i) ++taken[claim(1).at(0)];
  EXPECT_EQ(taken.size(), 3U);
  for (const auto& [actor, count] : taken) EXPECT_EQ(count, 3) << actor;
}

TEST_F(RoundRobinTest, CreatorsOfAnOrganizationTakeTurns) {
  make_waiting(first_, first_.owner_id, 30);
  make_waiting(first_, first_.other_id, 30);
  make_waiting(second_, second_.owner_id, 30);
  std::map<std::string, int> taken;
  for (int i = 0; i < 8; ++i) ++taken[claim(1).at(0)];
  EXPECT_EQ(taken[second_.org_id + " " + second_.owner_id], 4);
  EXPECT_EQ(taken[first_.org_id + " " + first_.owner_id], 2);
  EXPECT_EQ(taken[first_.org_id + " " + first_.other_id], 2);
}

// Eve is the owner of the first organization and works in the second and third, too.
TEST_F(RoundRobinTest, AUserWithManyOrganizationsGetsNoMoreTurnsThanOthers) {
  for (const RunFixture* of : {&first_, &third_}) make_waiting(*of, first_.owner_id, 40);
  make_waiting(second_, first_.owner_id, 40);
  make_waiting(second_, second_.owner_id, 40);
  std::map<std::string, int> taken;
  std::set<std::string> organizations_of_eve;
  for (int i = 0; i < 40; ++i) {
    std::string actor = claim(1).at(0);
    ++taken[actor.substr(37)];
    if (actor.substr(37) == first_.owner_id) organizations_of_eve.insert(actor.substr(0, 36));
  }
  EXPECT_GE(taken[second_.owner_id], 14) << "a half, but for the lot";
  EXPECT_EQ(organizations_of_eve.size(), 3U) << "all of hers get on";
}

TEST_F(RoundRobinTest, TheOldestOfACreatorComesFirst) {
  make_waiting(first_, first_.owner_id, 5);
  std::string oldest = first_.column("SELECT min(id::text) FROM runs");
  claim(1);
  EXPECT_EQ(first_.column("SELECT id FROM runs WHERE owner_id IS NOT NULL"), oldest);
}

TEST_F(RoundRobinTest, WhatAnotherDaemonIsTakingIsLeftToIt) {
  // The other one takes two, and holds three more until it commits at most.
  make_waiting(first_, first_.owner_id, 5);
  make_waiting(second_, second_.owner_id, 1);
  postgres::DbSession other = database_.as_runner();
  other.begin();
  postgres::Result taken = other.run(RunFixture::claim_of(second_.new_daemon("/run/e.sock"), 2));
  EXPECT_EQ(taken.size(), 2);
  EXPECT_EQ(claim(1).size(), 1U) << "there is one that nobody holds";
  other.commit();
}

long rows_read(const std::string& plans) {
  static const std::regex scan(R"(runs_claimable on runs [^\n]*\(actual rows=(\d+) loops=(\d+)\))");
  long rows = 0;
  for (std::sregex_iterator at(plans.begin(), plans.end(), scan), end; at != end; ++at) {
    rows +=
        std::strtol(at->str(1).c_str(), nullptr, 10) * std::strtol(at->str(2).c_str(), nullptr, 10);
  }
  return rows;
}

// Like idle_statistics_test.cpp: Postgres planned with the state in which nothing ran.
TEST_F(RoundRobinTest, AClaimReadsFewRunsHoweverManyWait) {
  database_.as_superuser().run_text("VACUUM ANALYZE runs");
  make_waiting(first_, first_.owner_id, crowd);
  make_waiting(first_, first_.other_id, 100);
  make_waiting(second_, second_.owner_id, 100);
  for (bool is_analyzed : {false, true}) {
    if (is_analyzed) database_.as_superuser().run_text("VACUUM ANALYZE runs");
    for (int limit : {1, 8, 64}) {
      postgres::DbSession session = database_.as_superuser();
      session.run_text(
          "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET client_min_messages = "
          "log; SET auto_explain.log_nested_statements = on; SET auto_explain.log_analyze = on; "
          "SET auto_explain.log_timing = off; SET jit = off");
      std::string plans;
      session.on_notice([&plans](std::string_view notice) { plans.append(notice) += '\n'; });
      session.run_text(fmt::format(
          "PREPARE claim AS {}; EXECUTE claim('{}', {}, 8192, '{}', '{{}}', '{{}}', 25, 32, "
          "1800, '{{}}', '{{}}')",
          query::run_claim.text, daemon_id_, limit, round_robin_.after_org_id()));
      EXPECT_GE(rows_read(plans), limit == 64 ? 32 : limit) << plans;
      EXPECT_LE(rows_read(plans), rows_read_max) << plans;
      EXPECT_EQ(plans.find("Seq Scan on runs"), plans.npos) << plans;
    }
  }
}

}  // namespace
}  // namespace hostler
