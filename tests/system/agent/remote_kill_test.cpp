// Daemons that are killed at any point of a remote tool's call: the run's report of its calls
// equals the server's record, and no call is repeated unless the server permits it.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/remote_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// How often each call came, by the number in its arguments, and which tool it was of.
std::map<int64_t, std::pair<std::string, int>> calls_at(const std::string& path) {
  std::map<int64_t, std::pair<std::string, int>> calls;
  for (const Json& record : sent_to(path)) {
    std::optional<Json> message = parse_json_or_nothing(record.text_or("body"));
    const Json* params = message ? message->find("params") : nullptr;
    if (params == nullptr) continue;
    auto& [tool, count] = calls[params->find("arguments")->integer_or("ms", 0)];
    tool = params->text_or("name");
    ++count;
  }
  return calls;
}

TEST(RemoteKills, RepeatOnlyWhatTheServerSaysMayBeRepeated) {
  unsigned seed = static_cast<unsigned>(parameter("REMOTE_KILL_SEED", std::random_device{}()));
  SCOPED_TRACE(fmt::format("REMOTE_KILL_SEED={}", seed));
  std::minstd_rand random(seed);
  int64_t kills = parameter("REMOTE_KILLS", 4);
  RemoteUser remote = make_remote("modern/sse");
  // Runs whose daemons died wait for their trials: they would fill what is ten at most otherwise.
  sql_value(webhook_stack(),
            fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                        "created_by_user_id) VALUES ('{}', 'limit.concurrent_runs', '1000000', "
                        "'integer', '{}') RETURNING key",
                        remote.user.org_id, remote.user.id));
  std::vector<std::string> run_ids;
  int64_t number = 0;
  for (int64_t kill = 0; kill < kills; ++kill) {
    for (int i = 0; i < 2; ++i) {
      // Every call has a number of its own: the milliseconds that it takes.
      std::string script = fmt::format(R"([tools shop__slow {{"ms":{}}} | shop__slow_again )"
                                       R"({{"ms":{}}}] [say done])",
                                       100 + number, 101 + number);
      number += 2;
      run_ids.push_back(remote.run(script));
    }
    // Until the daemon of that moment has made so many calls.
    size_t wanted = sent_to(remote.path).size() + random() % 5;
    bool has_come = eventually(1500, [&] { return sent_to(remote.path).size() >= wanted; });
    static_cast<void>(has_come);  // or some moment after
    webhook_stack().kill_runner();
    webhook_stack().start_runner();
  }
  for (const std::string& run_id : run_ids) {
    wait_for_status(remote.user.client, run_id, "completed");
  }
  std::map<int64_t, std::pair<std::string, int>> calls = calls_at(remote.path);
  std::set<int64_t> reported;
  for (const std::string& run_id : run_ids) {
    RunStory story = story_of(remote.user.client, run_id);
    // Three crashes without a step between them end a run, and only they; that is reported, too.
    bool is_completed = story.status == "completed";
    bool is_crashed = kills > 2 && story.text().find("run.crashed") != std::string::npos;
    EXPECT_TRUE(is_completed || is_crashed) << run_id << " is " << story.status << story.text();
    std::map<std::string, Json> results;
    for (Json& result : story.all("tool.result")) {
      std::string call_id(result.text_or("tool_call_id"));
      results.emplace(std::move(call_id), std::move(result));
    }
    for (const Json& call : story.all("tool.call")) {
      int64_t ms = call.find("arguments")->integer_or("ms", 0);
      reported.insert(ms);
      auto result = results.find(std::string(call.text_or("tool_call_id")));
      EXPECT_TRUE(result != results.end() || !is_completed) << call.dump();
      if (result == results.end()) continue;
      const Json* error = result->second.find("error");
      bool is_again = call.text_or("tool_name") == "shop__slow_again";
      // Three tries, of which each may meet a kill.
      EXPECT_TRUE(error == nullptr || !is_again || kills > 2) << result->second.dump();
      if (error == nullptr) {
        EXPECT_GE(calls[ms].second, 1) << "an answer that the server never gave: " << call.dump();
      } else {
        EXPECT_EQ(error->text_or("code"), is_again ? "tool.timeout" : "tool.outcome_unknown");
      }
    }
  }
  for (const auto& [ms, call] : calls) {
    const auto& [tool, count] = call;
    EXPECT_LE(count, tool == "slow_again" ? 3 : 1) << ms << " of " << tool;
    EXPECT_TRUE(reported.contains(ms)) << "called without a tool.call: " << ms << " of " << tool;
  }
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

}  // namespace
}  // namespace hostler::testing_support
