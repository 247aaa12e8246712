// Tests what a daemon writes of a run names the epoch of its claim: sent by one that lost the run,
// it changes no row. Statements are found by their parameters, a new one too: when it finds nothing
// to do here, its parameters get a row in values().
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/sql/plan_values_by_type.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/statement_list.h"

namespace hostler {
namespace {

using namespace testing_support;

class Fencing : public testing::Test {
 protected:
  Fencing() {
    run_id_ = fixture_.new_run(fixture_.new_thread());
    daemon_id_ = fixture_.new_daemon("a");
    epoch_ = fixture_.claim(daemon_id_, run_id_);
    server_id_ = fixture_.column(
        fmt::format("INSERT INTO mcp_servers (org_id, key, url, authorization_kind) VALUES "
                    "('{}', 'shop', 'https://example.org/mcp', 'none') RETURNING id",
                    fixture_.org_id));
    fixture_.column(
        fmt::format("WITH t AS (INSERT INTO mcp_tools (server_id, org_id, name, tool_name, "
                    "definition, hash, state) VALUES ('{}', '{}', 'buy', 'shop__buy', '{{}}', 'h', "
                    "'approved') RETURNING id, org_id) INSERT INTO mcp_approvals (tool_id, org_id, "
                    "hash, definition) SELECT t.id, t.org_id, 'h', '{{}}' FROM t RETURNING tool_id",
                    server_id_, fixture_.org_id));
    // A call that is under way; of a webhook's its tool is gone.
    fixture_.column(
        fmt::format("INSERT INTO run_asked_calls (run_id, org_id, tool_call_id, turn, tool_name, "
                    "answered_by, tries, remote_state) VALUES ('{}', '{}', 'x', 1, 'shop__buy', "
                    "'mcp', 1, '{{\"stage\": \"asked\"}}')",
                    run_id_, fixture_.org_id));
    own_route_ = fixture_.column(fmt::format("SELECT model_id FROM runs WHERE id = '{}'", run_id_));
    other_route_ = fixture_.column(
        fmt::format("INSERT INTO llm_models (org_id, provider_id, model) SELECT m.org_id, "
                    "m.provider_id, 'another' FROM llm_models m JOIN runs r ON r.model_id = m.id "
                    "WHERE r.id = '{}' RETURNING id",
                    run_id_));
    contents_text_ = fixture_.column(
        "SELECT 'SELECT md5(string_agg(r, '' '' ORDER BY r)) FROM (' || string_agg(format('SELECT "
        "%L || t::text FROM %I t', c.relname, c.relname), ' UNION ALL ') || ') AS s (r)' FROM "
        "pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = "
        "'public'::regnamespace AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid "
        "AND a.attname IN ('run_id', 'org_id'))");
  }

  // SQL by the names of parameters.
  std::map<std::string, std::string> values(int64_t epoch) const {
    return {
        {"daemon_id", "'" + daemon_id_ + "'"},
        {"run_id", "'" + run_id_ + "'"},
        {"run_ids", "ARRAY['" + run_id_ + "']::uuid[]"},
        {"epoch", std::to_string(epoch)},
        {"epochs", fmt::format("ARRAY[{}]::bigint[]", epoch)},
        {"org_id", "'" + fixture_.org_id + "'"},
        {"server_id", "'" + server_id_ + "'"},
        {"route_id", "'" + other_route_ + "'"},
        {"route_ids", "ARRAY['" + own_route_ + "']::uuid[]"},
        {"server", "server_number()"},
        {"first_seqs", "ARRAY[10]"},
        {"data", "ARRAY['{}']::json[]"},
        {"parts", "ARRAY['[]']"},
        {"measured", "ARRAY[true]"},
        {"incomplete", "ARRAY[false]"},
        {"statuses", "ARRAY['']"},
        {"request", R"('{"request_id": "00000000-0000-7000-8000-000000000003", )"
                    R"("kind": "question"}')"},
        {"error_code", "NULL"},
        {"error_message", "NULL"},
        {"tries_known", "0"},
        {"tries_max", "3"},
        {"claim_id", "NULL"},
        {"tool", "'buy'"},
        {"hash", "'h'"},
    };
  }
  std::string arguments(const StatementUse& use, int64_t epoch) const {
    std::map<std::string, std::string> by_name = values(epoch);
    std::string all;
    for (const StatementParameter& parameter : use.parameters) {
      auto found = by_name.find(parameter.name);
      if (!all.empty()) all += ", ";
      all += found == by_name.end() ? plan_value_of_type(parameter.type) : found->second;
    }
    return all;
  }
  std::string contents() { return std::string(session_.run_text(contents_text_).text()); }

  // Whether it changes anything of an organization's or a run's with this epoch, behind a change.
  bool writes(const StatementUse& use, int64_t epoch, const std::string& change = "SELECT") {
    session_.begin();
    session_.run_text(change);
    std::string before = contents();
    session_.run_text(fmt::format("EXECUTE f_{} ({})", use.statement->name, arguments(use, epoch)));
    bool is_changed = contents() != before;
    session_.rollback();
    return is_changed;
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  postgres::DbSession session_ = database_.as_superuser();
  std::string run_id_;
  std::string daemon_id_;
  std::string server_id_;
  std::string own_route_;
  std::string other_route_;
  std::string contents_text_;
  int64_t epoch_ = 0;
};

bool has(const StatementUse& use, std::string_view name) {
  return std::any_of(
      use.parameters.begin(), use.parameters.end(),
      [name](const StatementParameter& parameter) { return parameter.name == name; });
}

TEST_F(Fencing, HoldsForEveryStatementThatNamesAnEpochOfARun) {
  int checked = 0;
  for (const StatementUse& use : statement_list()) {
    bool is_of_one = has(use, "run_id") && has(use, "epoch");
    bool is_of_many = has(use, "run_ids") && has(use, "epochs");
    if (!is_of_one && !is_of_many) continue;
    ++checked;
    SCOPED_TRACE(use.statement->name);
    session_.run_text(fmt::format("PREPARE f_{} AS {}", use.statement->name, use.statement->text));
    EXPECT_TRUE(writes(use, epoch_)) << "whose it is";
    EXPECT_FALSE(writes(use, epoch_ - 1)) << "of an earlier claim";
    EXPECT_FALSE(writes(use, epoch_, "UPDATE runs SET owner_id = NULL")) << "the run was freed";
    EXPECT_FALSE(writes(use, epoch_, "UPDATE runs SET owner_id = uuidv7(), epoch = epoch + 1"))
        << "and taken by another";
  }
  EXPECT_GE(checked, 19);
}

}  // namespace
}  // namespace hostler
