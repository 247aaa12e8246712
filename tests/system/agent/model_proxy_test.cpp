// The line between the daemon and a model breaks: before the answer, in its head, inside an event,
// for good, in silence, or it is merely slow. A try of which nothing was shown is made again, three
// at most; behind text that was shown the run fails. No run waits longer than its limits say.
//
// The check is shown a run that failed for no reason. MODEL_PROXY_FAULTS (20; `make soak`: 1000),
// MODEL_PROXY_SEED (random, printed).
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using enum FaultKind;
using enum LineEnd;

// Three tries with their waits (1 s and 2 s, a fifth more at most), and what a busy machine adds.
constexpr int limit_ms = 1500;
constexpr int64_t run_ms_max = 3 * 2 * limit_ms + 3600 + 5000;
constexpr const char* script = "[delay 40] [say one two three four five]";

struct BrokenProxy {
  const char* name;
  std::vector<ProxyFault> faults;
  const char* outcome;          // status, code, how often it was tried again
  const char* other = nullptr;  // as good: what a reset takes away was not shown yet
};

class ModelProxy : public testing::Test {
 protected:
  ModelProxy() : user_(register_user(stack_)) {}

  static ApiStackOptions options() {
    ApiStackOptions options;
    options.has_runner = true;
    options.settings = {"HOSTLER_LIMIT_CONCURRENT_RUNS=100000",
                        fmt::format("HOSTLER_MODEL_CONNECT_TIMEOUT_MS={}", limit_ms),
                        fmt::format("HOSTLER_MODEL_FIRST_BYTE_TIMEOUT_MS={}", limit_ms),
                        fmt::format("HOSTLER_MODEL_IDLE_TIMEOUT_MS={}", limit_ms)};
    return options;
  }
  // A proxy to the fake model, and its address for a provider.
  FaultyProxy& new_line() {
    return lines_.emplace_back(stack_.model_url().substr(std::string_view("http://").size()));
  }
  static std::string url_of(const FaultyProxy& line) {
    return fmt::format("http://127.0.0.1:{}", line.port());
  }

  // Status, code and tries of a run.
  std::string outcome_of(const std::string& run_id) {
    return sql_value(stack_,
                     fmt::format("SELECT concat_ws(' ', status, error_code, (SELECT count(*) "
                                 "FROM run_events e WHERE e.run_id = runs.id AND e.type = "
                                 "'run.retrying')) FROM runs WHERE id = '{}'",
                                 run_id));
  }
  // Runs that ended as the contract does not say: neither whole, nor broken behind what was shown,
  // nor given up behind the third try.
  std::string ended_wrongly() {
    return sql_value(
        stack_,
        "SELECT coalesce(string_agg(concat_ws(' ', id, status, error_code, error_message), "
        "E'\\n'), "
        "'') FROM runs r WHERE status <> 'completed' AND NOT coalesce(status = 'failed' AND CASE "
        "error_code WHEN 'model.stream_broken' THEN EXISTS (SELECT 1 FROM run_events e WHERE "
        "e.run_id = r.id AND e.type = 'message.delta') WHEN 'model.unavailable' THEN (SELECT "
        "count(*) FROM run_events e WHERE e.run_id = r.id AND e.type = 'run.retrying') >= 2 END, "
        "false)");
  }
  int64_t longest_ms() {
    return sql_number(stack_,
                      "SELECT max(extract(epoch FROM ended_at - created_at) * 1000)::bigint "
                      "FROM runs");
  }

  ApiStack stack_{options()};
  std::deque<FaultyProxy> lines_;
  TestUser user_;
};

TEST_F(ModelProxy, ThatBreaksOnceCostsATryOrTheRunAsItWasShown) {
  const std::vector<BrokenProxy> broken = {
      {"cut before the answer", {{cut, server}}, "completed 1"},
      {"reset before the answer", {{reset, server}}, "completed 1"},
      {"silent before the answer", {{half_open, server}}, "completed 1"},
      {"the answer is lost", {{swallow, server}}, "completed 1"},
      {"the request is cut", {{cut, client, "", 40}}, "completed 1"},
      {"the request is lost", {{swallow, client, "", 40}}, "completed 1"},
      {"cut in the head", {{cut, server, "HTTP/1.1 200", 20}}, "completed 1"},
      {"cut in the status line", {{cut, server, "HTTP/1.1 200", 5}}, "completed 1"},
      {"silent in the head", {{half_open, server, "HTTP/1.1 200", 20}}, "completed 1"},
      {"cut behind the head", {{cut, server, "data: "}}, "completed 1"},
      {"silent behind the head", {{half_open, server, "data: "}}, "completed 1"},
      {"cut in the text", {{cut, server, "four", 2}}, "failed model.stream_broken 0"},
      {"reset in the text",
       {{reset, server, "four", 2}},
       "failed model.stream_broken 0",
       "completed 1"},
      {"silent in the text", {{half_open, server, "four", 2}}, "failed model.stream_broken 0"},
      {"the rest is lost", {{swallow, server, "four", 2}}, "failed model.stream_broken 0"},
      {"late", {{delay, server, "", 0, 300}}, "completed 0"},
      {"late in the text", {{delay, server, "four", 2, 300}}, "completed 0"},
      {"byte by byte", {{trickle, server, "", 0, 1}}, "completed 0"},
      {"the request is late", {{delay, client, "", 40, 300}}, "completed 0"},
      {"cut each time",
       {{cut, server}, {cut, server}, {cut, server}},
       "failed model.unavailable 2"},
      {"silent each time",
       {{half_open, server}, {half_open, server}, {half_open, server}},
       "failed model.unavailable 2"},
  };
  TestUser admin = register_admin(stack_);
  std::vector<std::string> run_ids;
  for (const BrokenProxy& one : broken) {
    FaultyProxy& line = new_line();
    for (const ProxyFault& fault : one.faults) line.arm(fault);
    Answer provider = admin.client.post(
        "/v1/llm-providers?scope=platform",
        fmt::format(R"({{"name":"{}","provider_kind":"openai","base_url":"{}/v1"}})", one.name,
                    url_of(line)));
    ASSERT_EQ(provider.status, 201) << provider.body;
    Answer model =
        admin.client.post("/v1/llm-providers/" + provider.member("id") + "/models?scope=platform",
                          R"({"model":"m"})");
    ASSERT_EQ(model.status, 201) << model.body;
    run_ids.push_back(start_output(user_.client, script,
                                   fmt::format(R"({{"route_id":"{}"}})", model.member("id"))));
  }
  ASSERT_TRUE(all_runs_end(stack_, 2 * run_ms_max)) << "runs are stuck";
  for (size_t i = 0; i < broken.size(); ++i) {
    std::string outcome = outcome_of(run_ids[i]);
    bool is_other = broken[i].other != nullptr && outcome == broken[i].other;
    EXPECT_TRUE(outcome == broken[i].outcome || is_other) << broken[i].name << ": " << outcome;
    EXPECT_EQ(lines_[i].faults(), static_cast<int>(broken[i].faults.size())) << broken[i].name;
  }
  EXPECT_LE(longest_ms(), run_ms_max);
  EXPECT_EQ(ended_wrongly(), "");
  EXPECT_EQ(run_faults(stack_), "");
}

TEST_F(ModelProxy, ThatBreaksAgainAndAgainLeavesNoRunOpen) {
  FaultyProxy& line = new_line();
  add_fake_model(stack_, R"("output_usd_per_mtok":20)", url_of(line));
  unsigned seed = static_cast<unsigned>(parameter("MODEL_PROXY_SEED", std::random_device{}()));
  SCOPED_TRACE(fmt::format("MODEL_PROXY_SEED={}", seed));
  std::minstd_rand random(seed);
  constexpr const char* turns = "[delay 5] [words 20] [tool no_such_tool {}] [delay 5] [words 20]";
  constexpr FaultKind kinds[] = {cut, reset, half_open, swallow, delay, trickle};
  constexpr const char* positions[] = {"", "HTTP/1.1 200", "data: ", "\"content\""};
  int64_t faults = parameter("MODEL_PROXY_FAULTS", 20);
  for (int64_t i = 0; i < faults; ++i) {
    ProxyFault fault;
    fault.kind = kinds[random() % std::size(kinds)];
    fault.sender = random() % 4 == 0 ? client : server;
    if (fault.sender == server) fault.at = positions[random() % std::size(positions)];
    fault.passing = random() % 300;
    fault.delay_ms = fault.kind == trickle ? 1 : 200;
    line.arm(fault);
    if (random() % 10 == 0) line.cut_all();
    for (int j = 0; j < 2; ++j) start_output(user_.client, turns);
    at_some_moment(random, 100);
  }
  line.disarm();
  EXPECT_GE(line.faults(), faults / 4) << "the faults met nobody";
  ASSERT_TRUE(all_runs_end(stack_)) << "runs are stuck";
  EXPECT_LE(longest_ms(), 2 * run_ms_max) << "two turns";
  EXPECT_EQ(ended_wrongly(), "");
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
  EXPECT_EQ(run_story(user_.client, "[say well]").status, "completed") << "the line is whole again";

  // The check can fail.
  stack_.sql().run_text("ALTER TABLE runs DISABLE TRIGGER runs_state");
  stack_.sql().run_text(
      "UPDATE runs SET status = 'failed', error_code = 'model.unavailable' WHERE id = (SELECT r.id "
      "FROM runs r WHERE NOT EXISTS (SELECT 1 FROM run_events e WHERE e.run_id = r.id AND e.type = "
      "'run.retrying') LIMIT 1)");
  EXPECT_NE(ended_wrongly(), "");
}

}  // namespace
}  // namespace hostler::testing_support
