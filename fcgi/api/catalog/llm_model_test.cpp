// POST /v1/llm-providers/{provider_id}/models/{model_id}:test. The pool calls no model: a daemon
// does (runner/model_tests.h), and the request waits for what it stores. Statements:
// sql/queries/model_tests.sql.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/error.h"
#include "lib/loop/wait.h"
#include "queries/model_tests.h"

namespace hostler {
namespace {

// A daemon that has room begins within a second.
constexpr int claim_seconds = 5;
constexpr int64_t claim_limit_ms = claim_seconds * 1000 + 500;
// The claim and what a daemon takes at most (runner/model_tests.cpp), with some room. nginx waits
// longer (nginx/hostler.conf).
constexpr int64_t wait_limit_ms = 55'000;
constexpr int64_t first_pause_ms = 100;
constexpr int64_t pause_ms_max = 500;

Error not_begun() {
  Error error(ErrorCode::http_unavailable,
              "No hostler-runner started the test within 5 seconds: none is running, or all are "
              "busy with other tests. Try again, or check GET /v1/admin/nodes.");
  error.retry_after_s = claim_seconds;
  return error;
}

Error not_ended() {
  return Error(ErrorCode::http_gateway_timeout,
               "The test started but did not end within a minute. Try again.");
}

// Returns nothing while the test is under way.
std::optional<Response> answer_of(const postgres::Result& found, int64_t waited_ms) {
  if (found.empty()) throw not_ended();
  postgres::Row row = found.front();
  if (!row.is_null("result")) return Response::json_text(200, std::string(row.text("result")));
  if (!row.boolean("is_claimed") && waited_ms > claim_limit_ms) throw not_begun();
  if (waited_ms > wait_limit_ms) throw not_ended();
  return std::nullopt;
}

}  // namespace

Task<Response> test_llm_model(Call& call) {
  postgres::BoundStatement asking =
      query::LlmModelTest{.provider_id = call.input.path_value("provider_id"),
                          .model_id = call.input.path_value("model_id"),
                          .claim_seconds = claim_seconds};
  postgres::BoundStatement notification = query::ModelTestNotify{};
  postgres::Result asked =
      co_await call.database.query_and_notify(std::move(asking), std::move(notification));
  std::string test_id(asked.front().text("test_id"));
  int64_t begun_ms = call.loop.now_ms();
  std::optional<Response> answer;
  for (int64_t pause_ms = first_pause_ms; !answer;
       pause_ms = std::min(pause_ms * 2, pause_ms_max)) {
    co_await loop::sleep_ms(call.loop, pause_ms);
    postgres::BoundStatement looking = query::LlmModelTestResult{.test_id = test_id};
    postgres::Result found = co_await call.database.query_apart(std::move(looking));
    answer = answer_of(found, call.loop.now_ms() - begun_ms);
  }
  co_return *std::move(answer);
}

}  // namespace hostler
