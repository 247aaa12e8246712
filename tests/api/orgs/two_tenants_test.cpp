// Two tenants over one pool, their requests mixed and many of their transactions aborted: no answer
// tells one of the other, and nothing is written into the other's rows. TWO_TENANTS_REQUESTS says
// how many, 5,000 without it. That such a leak would be seen is shown with a pool that forgets,
// now and then, to say whose a transaction is.
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr size_t at_once = 64;
constexpr const char* nobodys_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";

size_t requests_wanted() {
  const char* text = std::getenv("TWO_TENANTS_REQUESTS");
  size_t count = 5'000;
  if (text != nullptr) std::from_chars(text, text + strlen(text), count);
  return count;
}

// mark stands in all that the tenant writes.
struct Tenant {
  explicit Tenant(ApiStack& stack)
      : conversation(make_conversation(stack)),
        mark(new_name("mark")),
        key(make_api_key(stack, conversation.user, org())) {
    thread_id =
        make_thread(conversation.user.client, fmt::format(R"({{"title":"{} first"}})", mark));
    post_message(conversation.user.client, thread_id, mark + " says hello");
    run_id = start_run(conversation.user.client, thread_id);
  }
  const std::string& org() const { return conversation.user.org_id; }

  TestConversation conversation;
  std::string mark;
  std::string key;
  std::string thread_id;
  std::string run_id;
};

struct Mixed {
  size_t answered = 0;
  size_t aborted = 0;      // by an error in the midst of the transaction
  size_t unavailable = 0;  // its session with Postgres was ended
  std::vector<std::string> leaks;
};

class Mixture {
 public:
  explicit Mixture(ApiStack& stack) : stack_(stack), tenants_{Tenant(stack), Tenant(stack)} {}

  // cuts: how often a session of the pool is ended, about.
  Mixed run(size_t requests, size_t cuts) {
    Mixed mixed;
    for (size_t sent = 0; sent < requests; sent += at_once) {
      std::vector<Call> calls;
      std::vector<size_t> whose;
      for (size_t i = 0; i < at_once; ++i) {
        whose.push_back(pick(2));
        calls.push_back(next_call(tenants_[whose.back()], tenants_[1 - whose.back()]));
      }
      if (pick(requests / at_once + 1) < cuts) cut_a_session();
      std::vector<Answer> answers = stack_.line().send_all(calls);
      for (size_t i = 0; i < at_once; ++i) check(calls[i], answers[i], whose[i], mixed);
    }
    return mixed;
  }

  // Rows that are marked as one tenant's and stand in the other's organization.
  int64_t foreign_rows() {
    int64_t count = 0;
    for (size_t i : {0u, 1u}) {
      count += sql_number(
          stack_, fmt::format("SELECT (SELECT count(*) FROM threads WHERE org_id = '{0}' AND title "
                              "LIKE '%{1}%') + (SELECT count(*) FROM messages WHERE org_id = '{0}' "
                              "AND content LIKE '%{1}%')",
                              tenants_[i].org(), tenants_[1 - i].mark));
    }
    return count;
  }

 private:
  size_t pick(size_t below) { return random_() % below; }

  // A request of one tenant for things of its own, of the other, or of nobody.
  Call next_call(const Tenant& own, const Tenant& other) {
    const Tenant& meant = pick(3) == 0 ? other : own;
    const std::string thread = "/v1/threads/" + (pick(8) == 0 ? nobodys_id : meant.thread_id);
    const std::string title = fmt::format(R"({{"title":"{} {}"}})", own.mark, pick(1000));
    const std::string content = fmt::format(R"({{"content":"{} says {}"}})", own.mark, pick(1000));
    const std::string result = R"({"results":[{"tool_call_id":"c","output":1}]})";
    const Call calls[] = {
        {"GET", "/v1/threads?limit=5", {}, {}, {}},
        {"GET", "/v1/threads/search?q=" + meant.mark, {}, {}, {}},
        {"GET", thread, {}, {}, {}},
        {"GET", thread + "/messages?limit=5", {}, {}, {}},
        {"GET", thread + "/runs", {}, {}, {}},
        {"GET", "/v1/runs?limit=5", {}, {}, {}},
        {"GET", "/v1/runs/" + meant.run_id, {}, {}, {}},
        {"GET", "/v1/me", {}, {}, {}},
        {"GET", "/v1/me/credits", {}, {}, {}},
        {"GET", "/v1/models", {}, {}, {}},
        {"POST", "/v1/threads", title, "application/json", {}},
        {"POST", "/v1/threads", title, "application/json", {{"Idempotency-Key", "same"}}},
        {"PATCH", thread, title, "application/json", {}},
        {"POST", thread + "/messages", content, "application/json", {}},
        {"POST", thread + "/runs", "{}", "application/json", {}},  // busy: aborts behind its locks
        {"POST", "/v1/runs/" + meant.run_id + "/input", content, "application/json", {}},
        {"POST", "/v1/runs/" + meant.run_id + "/tool-results", result, "application/json", {}},
    };
    Call call = calls[pick(std::size(calls))];
    bool is_by_key = pick(4) == 0;
    call.headers.push_back(
        {"Authorization", "Bearer " + (is_by_key ? own.key : own.conversation.user.client.token)});
    return call;
  }

  void check(const Call& call, const Answer& answer, size_t actor, Mixed& mixed) {
    ++mixed.answered;
    mixed.aborted += answer.status >= 400 && answer.status < 500 ? 1 : 0;
    mixed.unavailable += answer.status == 503 ? 1 : 0;
    const Tenant& other = tenants_[1 - actor];
    const TestUser& user = other.conversation.user;
    for (const std::string& secret : {other.mark, other.org(), user.id, user.login, user.email}) {
      // The refusal may name the requested thing.
      bool is_reported = answer.body.find(secret) != std::string::npos &&
                         call.path.find(secret) == std::string::npos;
      if (is_reported) mixed.leaks.push_back(call.method + " " + call.path + ": " + answer.body);
    }
    bool is_others = call.path.find(other.thread_id) != std::string::npos ||
                     call.path.find(other.run_id) != std::string::npos;
    if (is_others && answer.status != 404 && answer.status != 503) {
      mixed.leaks.push_back(
          fmt::format("{} {} answered {}", call.method, call.path, answer.status));
    }
  }

  void cut_a_session() {
    stack_.sql().run_text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        "current_database() AND application_name LIKE 'hostler-api/%' ORDER BY random() LIMIT 1");
  }

  ApiStack& stack_;
  std::minstd_rand random_{4711};
  Tenant tenants_[2];
};

TEST(TwoTenants, OverOnePoolNeverSeeEachOther) {
  ApiStack stack;
  Mixture mixture(stack);
  const size_t requests = requests_wanted();
  Mixed mixed = mixture.run(requests, 20);
  EXPECT_GE(mixed.answered, requests);
  EXPECT_GE(mixed.aborted, requests / 5) << "aborted transactions are what this is about";
  EXPECT_LE(mixed.unavailable, requests / 4);
  EXPECT_EQ(mixed.leaks.size(), 0u) << mixed.leaks.front();
  EXPECT_EQ(mixture.foreign_rows(), 0);
  RecordProperty("unavailable", static_cast<int>(mixed.unavailable));
}

// The pool's sessions keep whose the last transaction was, and one request in ten does not say it.
TEST(TwoTenants, AreSeenToLeakWhenTheContextIsNotReset) {
  ApiStack stack;
  Mixture mixture(stack);
  stack.sql().run_text(
      "DO $$ DECLARE text text := pg_get_functiondef('authenticate'::regproc); BEGIN "
      "text := replace(text, ', true)', ', false)'); "
      "ASSERT text LIKE '%ids := set_config(''hostler.org_id''%'; "
      "text := replace(text, 'ids := set_config(''hostler.org_id''', "
      "'IF random() < 0.1 AND current_setting(''hostler.org_id'', true) <> '''' THEN RETURN; "
      "END IF; ids := set_config(''hostler.org_id'''); EXECUTE text; END $$;"
      // Nobody goes the short way, which has a context of its own.
      "CREATE OR REPLACE FUNCTION token_grants_keep(session uuid, address inet) RETURNS void "
      "LANGUAGE sql AS '';"
      "UPDATE access_tokens SET user_id = NULL, personal_org_id = NULL, role = NULL, is_proved = "
      "NULL");
  Mixed mixed = mixture.run(1'000, 0);
  EXPECT_GT(mixed.leaks.size(), 0u);
}

}  // namespace
}  // namespace hostler::testing_support
