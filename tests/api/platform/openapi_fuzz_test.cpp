// Every route of docs/openapi.yaml, asked by chance: bodies, parameters, headers and ids as the
// document wants them, and nearly so, by callers of every kind. No answer is a 5xx of ours, and
// every one is as the document says (tests/support/clients/client.cpp checks each).
//
// API_FUZZ_CASES: cases a route (5, always the same; `make long`: 500). API_FUZZ_SEED: those of an
// earlier run, which prints its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "tests/support/clients/openapi_cases.h"
#include "tests/support/parameters.h"
#include "tests/support/rows/tenancy_fixture.h"

namespace hostler::testing_support {
namespace {

// Returns the codes of others' failures: the mail server, the captcha's service, the daemon, which
// does not run for the created run; and of a flood.
bool is_honest_5xx(const Answer& answer) {
  std::string code = error_code_of(answer);
  if (code == "http.bad_gateway") return answer.has_header("x-hostler-run");
  // No daemon runs here that would test a model.
  bool waits_for_a_daemon = code == "http.unavailable";
  return waits_for_a_daemon || code == "email.delivery_failed" || code == "email.not_configured" ||
         code == "auth.captcha_unavailable" || code == "overload.busy" ||
         code == "auth.passkeys_not_configured";
}

// Every `make test` tries the same requests; those who ask for more get others each time.
int64_t chosen_seed() {
  return std::getenv("API_FUZZ_CASES") == nullptr ? 1 : std::random_device{}() % 1'000'000;
}

// Returns what administrators set would decide about all cases after it.
bool changes_the_service(const Operation& operation) {
  return operation.method != "GET" && operation.path.starts_with("/v1/admin/");
}

class ApiFuzz : public testing::Test {
 protected:
  ApiFuzz() { renew(); }

  // After a case that ended an account, a session or the organization.
  void renew() {
    fixture_.emplace(stack_);
    callers_ = {fixture_->platform.client,
                fixture_->clients.at(Actor::admin),
                fixture_->owner.client.with_org(fixture_->org_id),
                fixture_->clients.at(Actor::member),
                fixture_->clients.at(Actor::foreign_key),
                stack_.client()};
    maker_.emplace(seed_++, fixture_->values);
  }

  bool is_alive() {
    for (size_t i = 0; i + 2 < callers_.size(); ++i) {
      Call me{"GET", "/v1/me", {}, {}, {}};
      if (callers_[i].send(me).status != 200) return false;
    }
    return callers_[0].get("/v1/admin/dashboard").status == 200;
  }

  void put_back_settings() {
    stack_.sql().run_text("DELETE FROM settings");
    stack_.sql().run_text("DELETE FROM ip_rules");
  }

  void try_route(const Operation& operation, int64_t cases) {
    for (int64_t i = 0; i < cases; ++i) {
      Call call = maker_->make(operation);
      size_t actor = turn_++ % callers_.size();
      SCOPED_TRACE(fmt::format("caller {} {}", actor, call.body.substr(0, 2000)));
      Answer answer = callers_[actor].send(call);
      ++statuses_[answer.status];
      bool is_ours = answer.status >= 500 && !is_honest_5xx(answer);
      EXPECT_FALSE(is_ours) << call.method << " " << call.path << " " << answer.status << " "
                            << answer.body;
      EXPECT_NE(answer.status, 0) << call.method << " " << call.path;
      if (answer.status >= 200 && answer.status < 300) ++good_[operation.name()];
      if (changes_the_service(operation)) put_back_settings();
    }
    if (operation.method != "GET" && !is_alive()) renew();
  }

  unsigned seed_ = static_cast<unsigned>(parameter("API_FUZZ_SEED", chosen_seed()));
  ApiStack stack_;
  std::optional<TenancyFixture> fixture_;
  std::vector<Client> callers_;
  std::optional<CaseMaker> maker_;
  size_t turn_ = 0;
  std::map<int, int> statuses_;
  std::map<std::string, int> good_;
};

TEST_F(ApiFuzz, AnswersAsDocumentedAndNeverWithAFaultOfOurs) {
  int64_t cases = parameter("API_FUZZ_CASES", 5);
  SCOPED_TRACE(fmt::format("API_FUZZ_SEED={}", seed_ - 1));
  std::vector<Operation> operations = documented_operations();
  for (const Operation& operation : operations) {
    if (!changes_the_service(operation)) try_route(operation, cases);
  }
  for (const Operation& operation : operations) {
    if (changes_the_service(operation)) try_route(operation, cases);
  }
  int all = 0;
  std::string stated;
  for (const auto& [status, count] : statuses_) {
    stated += fmt::format(" {}: {}", status, count);
    all += count;
  }
  std::string never_good;
  for (const Operation& operation : operations) {
    if (!good_.contains(operation.name())) never_good += " " + operation.name() + ",";
  }
  fmt::print("{} requests to {} routes:{}; never 2xx:{}\n", all, operations.size(), stated,
             never_good.empty() ? " none" : never_good);
  EXPECT_GE(all, std::ssize(operations) * cases);
  // Requests that only ever fail would try little.
  EXPECT_GT(good_.size(), operations.size() / 4);
}

}  // namespace
}  // namespace hostler::testing_support
