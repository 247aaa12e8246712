// A property of every run, whatever happens to it: the deltas that its subscribers were shown, less
// those that were discarded, are its stored message. Random scripts of the model (text, thinking,
// tools, questions, retries, answers that break off, or do not fit what was asked for), cancels,
// and daemons that are killed or stopped in between. The seed is printed with every failure;
// HOSTLER_TEST_SEED repeats it.
//
//
// The check is shown to fail: each mutant below is what subscribers would see of a daemon with one
// mistake, made of the events of the same runs.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int users = 12;
constexpr int runs_each = 10;
constexpr int faults = 12;

class Scripts {
 public:
  explicit Scripts(unsigned seed) : random_(seed) {}
  size_t pick(size_t below) { return random_() % below; }

  std::string script() {
    std::string script = fmt::format("[delay {}]", pick(30));
    for (size_t turns = pick(4); turns > 0; --turns) script += before() + words() + call();
    // How the last turn ends: mostly well.
    script += before() + words();
    if (pick(8) == 0) script += pick(2) == 0 ? "[cut]" : "[error-in-stream]";
    return script;
  }
  // Answers of a run that wants an object: once or twice an invalid one, or three times and then it
  // fails.
  std::string repaired_script() {
    std::string script = fmt::format("[delay {}]", pick(30));
    if (pick(3) == 0) script += before() + words() + call();
    for (size_t turns = 1 + pick(3); turns > 0; --turns) script += words() + "[answer no object]";
    if (pick(3) == 0) script += words() + call();
    return script + R"([answer {"a": "b c d e f"}])";
  }

 private:
  // Failures of a call of the model before anything of it is shown: they are tried again.
  std::string before() {
    switch (pick(7)) {
      case 0:
        return "[status 503 times=1]";
      case 1:
        return fmt::format("[usage in={} out={} cached={}]", 1 + pick(1000), 1 + pick(90), pick(2));
      case 2:
        return "[no-usage]";
      default:
        return "";
    }
  }
  std::string words() {
    switch (pick(6)) {
      case 0:
        return "";
      case 1:
        return fmt::format("[think let me see][words {}]", 1 + pick(20));
      case 2:
        return "[split-utf8][say Größe 世界 😀 \\n]";
      case 3:
        return fmt::format("[pause {}][long-line {}]", pick(50), 1 + pick(100'000));
      default:
        return fmt::format("[words {}]", 1 + pick(60));
    }
  }
  std::string call() {
    switch (pick(5)) {
      case 0:
        return R"([tools no_such_tool {} | web_search {"query":"x"}])";
      case 1:
        return "[bad-tool-json web_search]";
      case 2:
        return "[ask Which?]";
      case 3:
        return fmt::format(R"([tool web_fetch {{"url":"u"}}][repeat {}])", 1 + pick(3));
      default:
        return R"([tool web_search {"query":"x"}])";
    }
  }
  std::minstd_rand random_;
};

struct Event {
  int64_t seq;
  std::string type;
  std::string content;
  bool is_thinking = false;
  int64_t discard_after = -1;  // of run.resumed and output.repair
};
using Events = std::vector<Event>;

struct Story {
  std::string run_id;
  std::string status;
  Events events;
  std::string stored;
  bool is_incomplete = false;
};

// Returns what a client that follows the contract has on its screen at the end.
std::string shown_text(const Events& events) {
  std::vector<const Event*> shown;
  for (const Event& event : events) {
    if (event.type == "message.delta" && !event.is_thinking) shown.push_back(&event);
    if (event.type != "run.resumed" && event.type != "output.repair") continue;
    std::erase_if(shown, [&](const Event* delta) { return delta->seq > event.discard_after; });
  }
  std::string text;
  for (const Event* delta : shown) text += delta->content;
  return text;
}

// Empty: the property holds.
std::string fault_of(const Story& story) {
  std::string shown = shown_text(story.events);
  if (shown != story.stored) {
    return fmt::format("{} {}: {} bytes shown, {} stored", story.run_id, story.status, shown.size(),
                       story.stored.size());
  }
  bool must_be_marked = story.status != "completed" && !story.stored.empty();
  if (story.is_incomplete != must_be_marked) return story.run_id + ": marked wrongly";
  return "";
}

class StreamedText : public ::testing::Test {
 protected:
  void start_runs(Scripts& scripts) {
    for (int i = 0; i < users; ++i) {
      users_.push_back(register_user(stack_));
      for (int j = 0; j < runs_each; ++j) {
        if (scripts.pick(4) == 0) {
          start_output(users_.back().client, scripts.repaired_script(),
                       R"({"response_format":{"type":"json_object"}})");
        } else {
          start_output(users_.back().client, scripts.script());
        }
      }
    }
  }
  int64_t open_runs() {
    return sql_number(stack_, "SELECT count(*) FROM runs WHERE ended_at IS NULL");
  }
  void answer_questions() {
    for (const TestUser& user : users_) {
      for (;;) {
        std::string run_id = sql_value(
            stack_, fmt::format("SELECT coalesce(min(id::text), '') FROM runs WHERE status = "
                                "'waiting_for_input' AND created_by_user_id = '{}'",
                                user.id));
        if (run_id.empty()) break;
        user.client.post("/v1/runs/" + run_id + "/input", R"({"content":"that one"})");
      }
    }
  }
  void cancel_one(Scripts& scripts) {
    const TestUser& user = users_[scripts.pick(users)];
    std::string run_id = sql_value(
        stack_, fmt::format("SELECT coalesce(min(id::text), '') FROM runs WHERE ended_at IS NULL "
                            "AND created_by_user_id = '{}'",
                            user.id));
    if (!run_id.empty()) user.client.post("/v1/runs/" + run_id + ":cancel");
  }
  void strike(Scripts& scripts) {
    if (scripts.pick(2) == 0) {
      stack_.kill_runner();
    } else {
      stack_.runner().send_signal(SIGTERM);
      stack_.runner().wait();
      // Cancels that meet a run without an owner.
      cancel_one(scripts);
    }
    stack_.start_runner();
  }
  std::vector<Story> stories() {
    std::vector<Story> stories;
    postgres::Result runs = stack_.sql().run_text(
        "SELECT r.id, r.status, coalesce(m.content, '') AS stored, coalesce(m.incomplete, false) "
        "AS "
        "incomplete FROM runs r LEFT JOIN messages m ON m.run_id = r.id AND m.role = 'assistant'");
    for (int i = 0; i < runs.size(); ++i) {
      Story story;
      story.run_id = runs[i].text("id");
      story.status = runs[i].text("status");
      story.stored = runs[i].text("stored");
      story.is_incomplete = runs[i].boolean("incomplete");
      postgres::Result rows = stack_.sql().run_text(fmt::format(
          "SELECT seq, type, coalesce(data ->> 'content', '') AS content, coalesce(data ->> "
          "'channel', '') = 'thinking' AS is_thinking, coalesce((data ->> "
          "'discard_after_seq')::bigint, -1) AS discard_after FROM run_events WHERE run_id = '{}' "
          "ORDER BY seq",
          story.run_id));
      for (int at = 0; at < rows.size(); ++at) {
        story.events.push_back({rows[at].integer("seq"), std::string(rows[at].text("type")),
                                std::string(rows[at].text("content")),
                                rows[at].boolean("is_thinking"),
                                rows[at].integer("discard_after")});
      }
      stories.push_back(std::move(story));
    }
    return stories;
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  std::vector<TestUser> users_;
};

// How many of the runs the mutant spoils so that the check sees it. The mutant says whether it
// found something to spoil.
int seen(const std::vector<Story>& stories, const std::function<bool(Story&)>& mutant) {
  int count = 0;
  for (Story story : stories) {
    if (mutant(story) && !fault_of(story).empty()) ++count;
  }
  return count;
}

bool forgets_to_discard(Story& story) {
  return std::erase_if(story.events, [](const Event& e) { return e.type == "run.resumed"; }) > 0;
}
bool forgets_to_repair(Story& story) {
  return std::erase_if(story.events, [](const Event& e) { return e.type == "output.repair"; }) > 0;
}
bool discards_one_too_many(Story& story) {
  for (Event& event : story.events) {
    if (event.type == "run.resumed") event.discard_after = 0;
  }
  return true;
}
bool loses_a_delta(Story& story) {
  auto delta = std::find_if(story.events.begin(), story.events.end(),
                            [](const Event& e) { return e.type == "message.delta"; });
  if (delta == story.events.end()) return false;
  story.events.erase(delta);
  return true;
}
bool duplicates_a_delta(Story& story) {
  for (size_t at = 0; at < story.events.size(); ++at) {
    if (story.events[at].type != "message.delta") continue;
    Event twice = story.events[at];
    story.events.insert(story.events.begin() + static_cast<ptrdiff_t>(at), twice);
    return true;
  }
  return false;
}
bool stores_thinking(Story& story) {
  for (Event& event : story.events) event.is_thinking = false;
  return true;
}

TEST_F(StreamedText, OfEveryRunIsItsStoredMessage) {
  const char* wanted = std::getenv("HOSTLER_TEST_SEED");
  unsigned seed = wanted == nullptr ? std::random_device{}()
                                    : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
  SCOPED_TRACE(fmt::format("HOSTLER_TEST_SEED={}", seed));
  add_fake_model(stack_);
  Scripts scripts(seed);
  std::minstd_rand moments(seed);
  start_runs(scripts);
  for (int i = 0; i < faults; ++i) {
    at_some_moment(moments, 500);
    answer_questions();
    if (scripts.pick(2) == 0) cancel_one(scripts);
    strike(scripts);
  }
  ASSERT_TRUE(eventually(60'000, [&] {
    answer_questions();
    return open_runs() == 0;
  }));
  std::vector<Story> all = stories();
  ASSERT_EQ(all.size(), static_cast<size_t>(users * runs_each));
  std::map<std::string, int> by_status;
  for (const Story& story : all) {
    EXPECT_EQ(fault_of(story), "");
    ++by_status[story.status];
  }
  EXPECT_GT(by_status["completed"], users * runs_each / 3) << "too little went well to say much";
  EXPECT_GT(seen(all, forgets_to_discard), 0);
  EXPECT_GT(seen(all, forgets_to_repair), 0);
  EXPECT_GT(seen(all, discards_one_too_many), 0);
  EXPECT_GT(seen(all, loses_a_delta), 20);
  EXPECT_GT(seen(all, duplicates_a_delta), 20);
  EXPECT_GT(seen(all, stores_thinking), 0);
}

}  // namespace
}  // namespace hostler::testing_support
