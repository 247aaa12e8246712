// The lines between nginx and the pool, and between nginx and the relay, break: before an answer,
// in its head, in its body, for good. A client hears 502 or 504 as a problem document, or a
// connection that breaks; never a short answer that looks whole. Calls that are repeated under
// their key happen once, and streams go on where they were cut.
//
// nginx takes the end of a FastCGI connection for the end of the answer unless fastcgi_keep_conn is
// on: then a client that keeps its connection would wait for the rest of a body that was cut short
// until keepalive_timeout (60 s).
//
// NGINX_PROXY_CALLS (40; `make soak`: 1000), NGINX_PROXY_RETURNS (40; 1000) of streams,
// NGINX_PROXY_SILENCES (0; 2): calls that wait for nginx's 30 s; NGINX_PROXY_SEED (random,
// printed).
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include <fmt/format.h>

#include "tests/support/clients/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/private_stack.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t patience_ms = 60'000;
constexpr int64_t short_body_ms_max = 20'000;  // far from keepalive_timeout
constexpr int64_t silence_ms_max = 35'000;     // nginx/: fastcgi_read_timeout 30s

class NginxProxy : public testing::Test {
 protected:
  NginxProxy() : stack_(options()) {
    seed_ = static_cast<unsigned>(parameter("NGINX_PROXY_SEED", std::random_device{}()));
    random_.seed(seed_);
  }

  ApiStackOptions options() {
    ApiStackOptions options;
    options.has_runner = true;
    options.nginx_proxy = [this](const std::string& socket) {
      bool is_pool = socket.ends_with("/api.sock");
      std::unique_ptr<FaultyProxy>& line = is_pool ? pool_proxy_ : relay_proxy_;
      line = std::make_unique<FaultyProxy>(socket);
      return line->folder() + socket.substr(socket.rfind('/'));
    };
    return options;
  }

  // Somewhere in what one end says next: at its beginning, in the head, in the body.
  ProxyFault any_fault() {
    ProxyFault fault;
    fault.kind = random_() % 2 == 0 ? FaultKind::cut : FaultKind::reset;
    fault.sender = random_() % 4 == 0 ? LineEnd::client : LineEnd::server;
    fault.passing = random_() % 3 == 0 ? 0 : random_() % 900;
    return fault;
  }

  // Whole, a problem document of nginx, a connection that breaks, or that the call before, which
  // broke as it was begun, still runs: anything else is a fault.
  static std::string dishonesty(const Received& received) {
    const Answer& answer = received.answer;
    bool is_honest = !received.is_whole() || answer.status == 200 ||
                     is_problem(answer, 502, "http.bad_gateway") ||
                     is_problem(answer, 504, "http.gateway_timeout") ||
                     is_problem(answer, 409, "idempotency.in_progress");
    bool is_short =
        received.is_whole() && answer.status == 200 && !parse_json_or_nothing(answer.body);
    if (is_honest && !is_short) return "";
    return fmt::format("{} {}", answer.status, answer.body);
  }

  Received adjust(const TestUser& admin, const TestUser& user, const std::string& key) {
    Call call{
        "POST", "/v1/admin/credits/adjust", {}, "application/json", {{"Idempotency-Key", key}}};
    call.body = fmt::format(R"({{"org_id":"{}","amount":1,"note":"storm"}})", user.org_id);
    return caller_.ask(call, admin.client.token);
  }

  std::unique_ptr<FaultyProxy> pool_proxy_;
  std::unique_ptr<FaultyProxy> relay_proxy_;
  ApiStack stack_;
  RawClient caller_{stack_.line().base_url(), ApiStack::certificate()};
  unsigned seed_ = 0;
  std::minstd_rand random_;
};

TEST_F(NginxProxy, ToThePoolThatBreaksCostsNoCallThatIsRepeated) {
  SCOPED_TRACE(fmt::format("NGINX_PROXY_SEED={}", seed_));
  TestUser admin = register_admin(stack_);
  TestUser user = register_user(stack_);
  std::string balance =
      fmt::format("SELECT balance FROM credit_accounts WHERE org_id = '{}'", user.org_id);
  int64_t before = sql_number(stack_, balance);
  int64_t calls = parameter("NGINX_PROXY_CALLS", 40);
  int unheard = 0;
  for (int64_t i = 0; i < calls; ++i) {
    pool_proxy_->arm(any_fault());
    ASSERT_TRUE(eventually(patience_ms, [&] {
      Received received = adjust(admin, user, fmt::format("broken-{}", i));
      EXPECT_EQ(dishonesty(received), "");
      bool is_answered = received.is_whole() && received.answer.status == 200;
      if (!is_answered) ++unheard;
      return is_answered;
    })) << "the call is never answered";
    pool_proxy_->disarm();
  }
  EXPECT_GE(unheard, calls / 4) << "the line did not break";
  EXPECT_EQ(sql_number(stack_, balance), before + calls);
  EXPECT_EQ(money_faults(stack_), "");

  for (int64_t i = 0; i < parameter("NGINX_PROXY_SILENCES", 0); ++i) {
    pool_proxy_->arm({FaultKind::half_open, LineEnd::server});
    int64_t begin_ms = monotonic_ms();
    Received received = caller_.ask({"GET", "/v1/me", {}, {}, {}}, user.client.token);
    EXPECT_TRUE(is_problem(received.answer, 504, "http.gateway_timeout"));
    EXPECT_LE(monotonic_ms() - begin_ms, silence_ms_max);
    EXPECT_EQ(user.client.get("/v1/me").status, 200);
  }

  // A client that takes a new key for each try is seen.
  pool_proxy_->arm({FaultKind::cut, LineEnd::server});
  EXPECT_EQ(adjust(admin, user, "naive-1").answer.status, 502);
  EXPECT_EQ(adjust(admin, user, "naive-2").answer.status, 200);
  EXPECT_EQ(sql_number(stack_, balance), before + calls + 2) << "one call, and it happened twice";
}

// State after the death of a worker, which only a kept connection shows.
TEST_F(NginxProxy, ToThePoolThatBreaksInABodyBreaksTheClientsConnectionToo) {
  TestUser user = register_user(stack_);
  for (size_t passing : {1U, 40U}) {
    pool_proxy_->arm({FaultKind::cut, LineEnd::server, "\r\n\r\n{", 4 + passing});
    int64_t begin_ms = monotonic_ms();
    Received received = caller_.ask({"GET", "/v1/me", {}, {}, {}}, user.client.token);
    EXPECT_EQ(received.answer.status, 200);
    EXPECT_FALSE(received.is_whole()) << received.answer.body;
    EXPECT_LT(monotonic_ms() - begin_ms, short_body_ms_max);
    EXPECT_EQ(user.client.get("/v1/me").status, 200);
  }
}

TEST_F(NginxProxy, ToTheRelayThatBreaksLeavesStreamsContiguous) {
  SCOPED_TRACE(fmt::format("NGINX_PROXY_SEED={}", seed_));
  add_fake_model(stack_);
  TestUser user = register_user(stack_);
  int64_t returns = parameter("NGINX_PROXY_RETURNS", 40);
  std::string run_id;
  EventStream whole;
  for (int64_t back = 0; back < returns || !run_id.empty(); ++back) {
    ASSERT_LT(back, 20 * returns + 100) << "the log never ends";
    if (run_id.empty()) {
      run_id = start_output(user.client, "[delay 1] [words 400]");
      whole = EventStream();
    }
    if (back < returns) {
      relay_proxy_->arm(
          {FaultKind::cut, LineEnd::server, back % 5 == 0 ? "" : "id: ", random_() % 12'000});
    }
    Call call{"GET", "/v1/runs/" + run_id + "/events", {}, {}, {}};
    call.headers = {{"Last-Event-ID", std::to_string(whole.last_seq())}};
    Received received = caller_.ask(call, user.client.token);
    relay_proxy_->disarm();
    bool is_problem_of_nginx =
        received.is_whole() && is_problem(received.answer, 502, "http.bad_gateway");
    EXPECT_TRUE(received.answer.status == 200 || received.answer.status == 0 || is_problem_of_nginx)
        << received.answer.status << " " << received.answer.body;
    if (received.answer.status != 200) continue;
    whole.add({received.answer.body});
    if (!whole.has_ended()) continue;
    EXPECT_TRUE(whole.types().ends_with("run.completed")) << whole.types();
    EventStream late{user.client.get("/v1/runs/" + run_id + "/events?follow=false").body};
    EXPECT_EQ(whole.frames(), late.frames());
    EXPECT_EQ(late.seqs().back(), static_cast<int64_t>(late.seqs().size()));
    run_id.clear();
  }
  EXPECT_GE(relay_proxy_->faults(), returns / 2) << "the line did not break";
  EXPECT_EQ(run_faults(stack_), "");
}

}  // namespace
}  // namespace hostler::testing_support
