// Daemons that are killed at any point of a webhook tool's call: no result that was acknowledged is
// lost, and nothing is called twice that must not be.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/webhook_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// Tools whose servers answer at once, with 202, and after a while; each once repeatable, once not.
struct ToolRow {
  std::string name;
  std::string path;
  bool is_repeatable;
};

const std::vector<ToolRow>& tool_rows() {
  static const std::vector<ToolRow> rows{
      {"at_once", "/json/1/kill", false},  {"at_once_again", "/json/1/kill", true},
      {"later", "/accepted/kill", false},  {"later_again", "/accepted/kill", true},
      {"slowly", "/slow/300/kill", false}, {"slowly_again", "/slow/300/kill", true},
  };
  return rows;
}

TestUser user_with_tools() {
  TestUser user = register_user(webhook_stack());
  std::string names;
  for (const ToolRow& row : tool_rows()) {
    Answer made = user.client.post(
        "/v1/tools?scope=org",
        fmt::format(R"({{"name":"{}","description":"d","parameters":{{"type":"object"}},)"
                    R"("url":"{}","is_repeatable":{},"timeout_seconds":5}})",
                    row.name, receiver().url(row.path), row.is_repeatable));
    EXPECT_EQ(made.status, 201) << made.body;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ",", row.name);
  }
  Answer persona = user.client.post(
      "/v1/personas?scope=org",
      fmt::format(R"({{"persona_key":"tooled","version":"1","tools":[{}]}})", names));
  EXPECT_EQ(persona.status, 201) << persona.body;
  return user;
}

// Calls that the servers of the tools got, and their later answers.
class Servers {
 public:
  explicit Servers(std::string org_id) : org_id_(std::move(org_id)) {}

  // Answers each call that was accepted, once, as soon as it came.
  void answer_accepted() {
    for (const Json& record : receiver().records()) {
      std::optional<Json> message = parse_json_or_nothing(record.text_or("body"));
      if (!message || message->text_or("type") != "tool.call") continue;
      const Json& data = *message->find("data");
      if (data.text_or("org_id") != org_id_) continue;
      std::string path(record.text_or("path"));
      std::string call(data.text_or("tool_call_id"));
      if (!path.starts_with("/accepted") || acknowledged_.contains(call)) continue;
      Answer given = webhook_stack().client().send(
          {"POST",
           fmt::format("/v1/runs/{}/tool-results", data.text_or("run_id")),
           fmt::format(R"({{"results":[{{"tool_call_id":"{}","output":"{}"}}]}})", call, call),
           "application/json",
           {{"Authorization", fmt::format("Bearer {}", data.text_or("result_token"))}}});
      bool is_answered = given.status == 200 || given.status == 409 || given.status == 401;
      EXPECT_TRUE(is_answered || given.status >= 500) << given.body;
      if (given.status == 200) acknowledged_.insert(call);
    }
  }

  // How often each call came, by its id; and which tool it was of.
  std::map<std::string, int> counts(std::map<std::string, std::string>& tools) const {
    std::map<std::string, int> counts;
    for (const Json& record : receiver().records()) {
      std::optional<Json> message = parse_json_or_nothing(record.text_or("body"));
      if (!message || message->text_or("type") != "tool.call") continue;
      const Json& data = *message->find("data");
      if (data.text_or("org_id") != org_id_) continue;
      std::string call(data.text_or("tool_call_id"));
      ++counts[call];
      tools[call] = data.text_or("tool_name");
    }
    return counts;
  }

  const std::set<std::string>& acknowledged() const { return acknowledged_; }

 private:
  std::string org_id_;
  std::set<std::string> acknowledged_;
};

TEST(WebhookKills, LoseNoAcknowledgedResultAndRepeatNothing) {
  unsigned seed = static_cast<unsigned>(parameter("WEBHOOK_KILL_SEED", std::random_device{}()));
  SCOPED_TRACE(fmt::format("WEBHOOK_KILL_SEED={}", seed));
  std::minstd_rand random(seed);
  int64_t kills = parameter("WEBHOOK_KILLS", 4);
  TestUser user = user_with_tools();
  // Runs whose daemons died wait for their trials: they would fill what is ten at most otherwise.
  sql_value(webhook_stack(),
            fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                        "created_by_user_id) VALUES ('{}', 'limit.concurrent_runs', '1000000', "
                        "'integer', '{}') RETURNING key",
                        user.org_id, user.id));
  Servers servers(user.org_id);
  std::string script;
  for (const ToolRow& row : tool_rows()) {
    script += fmt::format("{}{} {{}}", script.empty() ? "[tools " : " | ", row.name);
  }
  script += "] [say done]";
  std::vector<std::string> run_ids;
  for (int64_t kill = 0; kill < kills; ++kill) {
    for (int i = 0; i < 2; ++i) {
      run_ids.push_back(start_output(user.client, script, R"({"persona_id":"tooled@1"})"));
    }
    // Until the daemon of that moment has called so many servers.
    size_t wanted = receiver().records().size() + random() % 12;
    bool has_come = eventually(1500, [&] {
      servers.answer_accepted();
      return receiver().records().size() >= wanted;
    });
    static_cast<void>(has_come);  // or some moment after
    webhook_stack().kill_runner();
    webhook_stack().start_runner();
  }
  for (const std::string& run_id : run_ids) {
    std::string status;
    EXPECT_TRUE(eventually(60'000,
                           [&] {
                             servers.answer_accepted();
                             status = user.client.get("/v1/runs/" + run_id).member("status");
                             return status == "completed" || status == "failed";
                           }))
        << run_id << " is " << status << ": "
        << sql_value(
               webhook_stack(),
               fmt::format("SELECT row_to_json(r)::text || coalesce((SELECT json_agg(a)::text "
                           "FROM run_asked_calls a WHERE a.run_id = r.id), '') "
                           "FROM runs r WHERE id = '{}'",
                           run_id));
    // Repeated crashes end a run; that is reported, too.
    EXPECT_TRUE(status == "completed" || kills > 10) << run_id << " is " << status;
  }
  std::map<std::string, std::string> tools;
  for (const auto& [call, count] : servers.counts(tools)) {
    bool is_repeatable = tools[call].ends_with("_again");
    EXPECT_LE(count, is_repeatable ? 3 : 1) << call << " of " << tools[call];
  }
  for (const std::string& call : servers.acknowledged()) {
    EXPECT_EQ(sql_value(webhook_stack(),
                        fmt::format(
                            "SELECT t.result #>> '{{}}' FROM run_asked_calls a "
                            "LEFT JOIN run_tool_results t ON t.run_id = a.run_id AND t.turn = "
                            "a.turn AND t.tool_call_id = a.tool_call_id WHERE a.org_id = '{}' AND "
                            "a.tool_call_id = '{}'",
                            user.org_id, call)),
              call);
  }
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

}  // namespace
}  // namespace hostler::testing_support
