// The daemon is killed again and again while runs are under way that call tools over many turns.
// Whatever happens: no run is lost, no event is lost or doubled, every run ends once, no turn is
// paid for twice, no finished tool call is made again and the model hears of each once, the ledger
// is right, the deltas of a completed run, less the discarded ones, are its stored message, and
// each webhook endpoint gets one message for the end of each run.
//
// The checks are shown to see such faults: rows are spoilt by hand, and a daemon that forgets what
// its tools answered (Stress::forgets_results, the mutant) repeats finished calls; each must be
// found. KILL_STRESS_KILLS (50; `make soak`: 200), two runs for each; KILL_STRESS_SEED.
#include <gtest/gtest.h>
#include <signal.h>

#include <fmt/format.h>

#include <random>
#include <set>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/peers/counting_search.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/rows/run_faults.h"

namespace hostler::testing_support {
namespace {

constexpr int users = 10;
constexpr int runs_a_kill = 2;
constexpr int search_ms = 40;

struct StressRun {
  std::string run_id;
  std::vector<std::string> queries;  // of its calls of web_search, each asked for by one call
};

class Stress {
 public:
  Stress() : stack_(options()) {
    TestUser admin = register_admin(stack_);
    add_model(admin);
    search_.use_for(admin);
    for (int i = 0; i < users; ++i) {
      users_.push_back(register_user(stack_));
      add_endpoints(users_.back());
    }
  }

  // The mutant: a take-over knows no result of the run's tools.
  void forgets_results() {
    stack_.sql().run_text(
        "CREATE FUNCTION forget_results() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ "
        "BEGIN DELETE FROM run_tool_results WHERE run_id = NEW.id; RETURN NULL; END $$;"
        "CREATE TRIGGER forgets AFTER UPDATE OF take_overs ON runs FOR EACH ROW "
        "WHEN (NEW.take_overs > OLD.take_overs) EXECUTE FUNCTION forget_results()");
  }

  // So many turns with calls, every second with two side by side; the last tells what it heard.
  void start_run(int turns) {
    size_t number = runs_.size();
    const TestUser& user = users_[number % users_.size()];
    StressRun run;
    std::string script;
    auto call = [&] {
      run.queries.push_back(fmt::format("run {} call {}", number, run.queries.size()));
      return fmt::format(R"(web_search {{"query":"{}"}})", run.queries.back());
    };
    for (int turn = 0; turn < turns; ++turn) {
      script += "[delay 15] [words 6] ";
      std::string first = call();
      script += turn % 2 == 0 ? "[tool " + first + "] " : "[tools " + first + " | " + call() + "] ";
    }
    script += "[delay 15] [words 6] [echo-history]";
    std::string thread_id = user.client.post("/v1/threads").member("id");
    Answer stated = user.client.post("/v1/threads/" + thread_id + "/messages",
                                     fmt::format(R"({{"content":{}}})", json_quote(script)));
    EXPECT_EQ(stated.status, 201) << stated.body;
    Answer made = user.client.post("/v1/threads/" + thread_id + "/runs");
    EXPECT_EQ(made.status, 201) << made.body;
    run.run_id = made.member("run_id");
    runs_.push_back(std::move(run));
  }

  void kill() {
    stack_.kill_runner();
    stack_.start_runner();
  }

  // Until every run is over and every message told.
  void wait_for_end() {
    EXPECT_TRUE(all_runs_end(stack_, 30'000)) << "of the last kill";
    const char* open = "SELECT count(*) FROM outbox WHERE status = 'pending'";
    EXPECT_TRUE(eventually(30'000, [&] { return sql_number(stack_, open) == 0; }));
  }

  // Returns what is wrong with the tool calls, one line a fault; empty: nothing. An answer that a
  // committed event tells was the last that was asked for: nobody asked after it.
  std::string call_faults() {
    std::map<std::string, int> asked = search_.asked();
    std::string stated;
    postgres::Result reported = stack_.sql().run_text(
        "SELECT coalesce(data #>> '{result,results,0,title}', data::text) AS title FROM run_events "
        "WHERE type = 'tool.result'");
    std::set<std::string> titles;
    for (int i = 0; i < reported.size(); ++i) titles.emplace(reported[i].text("title"));
    for (const StressRun& run : runs_) {
      for (const std::string& query : run.queries) {
        for (int n = 1; n <= asked[query]; ++n) {
          bool is_reported = titles.erase(CountingSearch::title(query, n)) > 0;
          if (is_reported && n < asked[query]) stated += "asked again: " + query + "\n";
        }
      }
      stated += history_faults(run);
    }
    for (const std::string& title : titles) stated += "nobody answered: " + title + "\n";
    return stated;
  }

  // A completed run's model heard the answer of each call once.
  std::string history_faults(const StressRun& run) {
    if (status_of(run) != "completed") return "";
    std::string received =
        sql_value(stack_, fmt::format("SELECT content FROM messages WHERE role = "
                                      "'assistant' AND run_id = '{}'",
                                      run.run_id));
    std::string stated;
    for (const std::string& query : run.queries) {
      int count = 0;
      std::string beginning = query + " #";
      for (size_t at = received.find(beginning); at != std::string::npos;
           at = received.find(beginning, at + 1)) {
        ++count;
      }
      if (count != 1) stated += fmt::format("heard {} times: {}\n", count, query);
    }
    return stated;
  }

  std::string status_of(const StressRun& run) {
    return sql_value(stack_, "SELECT status FROM runs WHERE id = '" + run.run_id + "'");
  }

  // Runs that failed for another reason than three take-overs in a row without a step.
  int64_t failed_wrongly() {
    return sql_number(stack_,
                      "SELECT count(*) FROM runs WHERE status <> 'completed' AND (error_code IS "
                      "DISTINCT FROM 'run.crashed' OR crash_count < 3)");
  }

  // Everything was paid for once, and nothing is held any more.
  void check_ledger() {
    ProgramRun verified = run_ctl({"ledger", "verify"},
                                  {"HOSTLER_DATABASE_URL=" + stack_.database().superuser_url()});
    EXPECT_EQ(verified.status, 0) << verified.err;
    EXPECT_EQ(sql_number(stack_, "SELECT sum(held)::bigint FROM credit_accounts"), 0);
    // How many runs outlive the kills is chance; each turn that cost something was paid for.
    int64_t paid =
        sql_number(stack_, "SELECT count(*) FROM credit_transactions WHERE type = 'consumption'");
    EXPECT_EQ(paid,
              sql_number(stack_, "SELECT count(*) FROM usage_records WHERE cost_nano_usd > 0"));
    EXPECT_GT(paid, 0) << "runs were not paid for";
  }

  size_t messages_reported() const {
    std::set<std::string> ids;
    for (const Json& record : receiver_->records()) {
      ids.emplace(record.find("headers")->text_or("webhook-id"));
    }
    return ids.size();
  }

  ApiStack& stack() { return stack_; }
  const std::vector<StressRun>& runs() const { return runs_; }

 private:
  static ApiStackOptions options() {
    ApiStackOptions options;
    options.has_runner = true;
    options.settings = {"HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file(),
                        "HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8",
                        // On a slow machine more are under way than an organization may have.
                        "HOSTLER_LIMIT_CONCURRENT_RUNS=1000"};
    return options;
  }

  void add_model(const TestUser& admin) {
    Answer provider = admin.client.post(
        "/v1/llm-providers?scope=platform",
        fmt::format(R"({{"name":"fake-model","provider_kind":"openai","base_url":"{}/v1"}})",
                    stack_.model_url()));
    ASSERT_EQ(provider.status, 201) << provider.body;
    std::string path = "/v1/llm-providers/" + provider.member("id") + "/models?scope=platform";
    const char* model = R"({"model":"m","is_default":true,"output_usd_per_mtok":20})";
    ASSERT_EQ(admin.client.post(path, model).status, 201);
  }

  // Two that want the ends of runs, one that wants none of these.
  void add_endpoints(const TestUser& user) {
    for (const char* events : {R"("run.completed","run.failed")", R"("run.completed","run.failed")",
                               R"("run.waiting_for_input")"}) {
      Answer made = user.client.post(
          "/v1/webhook-endpoints",
          fmt::format(R"({{"url":"{}","events":[{}]}})", receiver_->url("/ok"), events));
      EXPECT_EQ(made.status, 201) << made.body;
    }
  }

  CountingSearch search_{search_ms};
  std::unique_ptr<OutsidePeer> receiver_ = start_receiver();
  ApiStack stack_;
  std::vector<TestUser> users_;
  std::vector<StressRun> runs_;
};

TEST(KillStress, LosesNothingAndDuplicatesNothing) {
  Stress stress;
  unsigned seed = static_cast<unsigned>(parameter("KILL_STRESS_SEED", std::random_device{}()));
  SCOPED_TRACE(fmt::format("KILL_STRESS_SEED={}", seed));
  std::minstd_rand random(seed);
  for (int64_t i = 0; i < parameter("KILL_STRESS_KILLS", 50); ++i) {
    for (int j = 0; j < runs_a_kill; ++j) stress.start_run(3 + static_cast<int>(random() % 10));
    at_some_moment(random, 500, 300);
    stress.kill();
  }
  stress.wait_for_end();
  EXPECT_EQ(stress.messages_reported(), 2 * stress.runs().size()) << "what arrived";
  EXPECT_EQ(run_faults(stress.stack()), "");
  EXPECT_EQ(stress.call_faults(), "");
  EXPECT_EQ(stress.failed_wrongly(), 0);
  stress.check_ledger();
  ApiStack& stack = stress.stack();
  int64_t resumed = sql_number(stack, "SELECT count(*) FROM run_events WHERE type = 'run.resumed'");
  int64_t completed = sql_number(stack, "SELECT count(*) FROM runs WHERE status = 'completed'");
  EXPECT_GT(resumed, 0) << "no kill met a run";
  EXPECT_GT(completed, 0);  // how many is chance: three kills without a step between end a run
  fmt::print("{} runs, {} completed, {} take-overs, {} calls, {} made anew\n", stress.runs().size(),
             completed, resumed, sql_number(stack, "SELECT count(*) FROM run_tool_results"),
             sql_number(stack,
                        "SELECT count(*) FROM run_events WHERE type = 'tool.result' AND "
                        "data::text NOT LIKE '% #1\"%'"));

  // The checks can fail: a lost event, a doubled end, a turn that was paid for twice.
  auto finds = [&](const char* spoil, std::string_view fault) {
    stack.sql().run_text(spoil);
    EXPECT_NE(run_faults(stack).find(fault), std::string::npos) << spoil;
  };
  finds(
      "DELETE FROM run_events WHERE (run_id, seq) = (SELECT run_id, seq FROM "
      "run_events WHERE type = 'message.delta' ORDER BY run_id LIMIT 1)",
      "gap in");
  finds("DELETE FROM outbox WHERE id = (SELECT id FROM outbox WHERE kind = 'webhook' LIMIT 1)",
        "told 0 times");
  finds("UPDATE runs SET total_output_tokens = total_output_tokens + 1", "totals are not");
  finds("UPDATE messages SET content = content || 'x' WHERE role = 'assistant'",
        "shown is not stored");
  finds("UPDATE run_tool_results SET result = '{}'", "result is not what was told");
}

// The mutant: finished calls are made again, and it is seen.
TEST(KillStress, SeesFinishedCallsThatAreMadeAgain) {
  Stress stress;
  stress.forgets_results();
  for (int i = 0; i < 4; ++i) stress.start_run(6);
  const char* finished = "SELECT count(DISTINCT run_id) FROM run_tool_results";
  EXPECT_TRUE(eventually(20'000, [&] { return sql_number(stress.stack(), finished) == 4; }));
  stress.kill();
  stress.wait_for_end();
  EXPECT_NE(stress.call_faults().find("asked again"), std::string::npos) << stress.call_faults();
  EXPECT_NE(run_faults(stress.stack()).find("tool.result 2 times"), std::string::npos);
}

}  // namespace
}  // namespace hostler::testing_support
