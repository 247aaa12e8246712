// See runner/model_tests.h.
#include "runner/model_tests.h"

#include <memory>
#include <optional>
#include <utility>

#include "lib/config/stored_secret.h"
#include "lib/log.h"
#include "lib/postgres/with_retry.h"
#include "queries/model_tests.h"
#include "runner/agent/model_checks.h"

namespace hostler::runner {
namespace {

constexpr int64_t poll_ms = 1000;
// At once, in all and of one organization or user: a provider that does not answer delays its own
// tests.
constexpr size_t tests_max = 16;
constexpr size_t org_tests_max = 2;
// Less than the request waits (fcgi/api/catalog/llm_model_test.cpp).
constexpr int64_t test_limit_ms = 45'000;
constexpr std::string_view unreadable_key =
    R"({"ok":false,"checks":[{"name":"text","ok":false,"code":"model.rejected","message":)"
    R"("The provider's key cannot be read; store it again.","duration_ms":0}]})";

void log_test_failure(const std::string& name, std::exception_ptr failure) {
  log_error("model_test_failed", {{"test_id", name}, {"cause", loop::cause_of(failure)}});
}

// Like that of a run (runner/agent/run_parts.cpp). Returns nothing if the provider's key cannot be
// read.
std::optional<ModelRequest> request_of(AgentServices& services, const postgres::Row& row) {
  ModelRequest request;
  bool is_anthropic = row.text("provider_kind") == "anthropic";
  request.endpoint.provider_kind = is_anthropic ? ProviderKind::anthropic : ProviderKind::openai;
  request.endpoint.base_url = row.text_or_null("base_url").value_or("");
  request.endpoint.model = row.text("model");
  request.endpoint.guarded = row.boolean("is_org_scope");
  if (!row.is_null("secret_id")) {
    config::SecretIdentity identity{std::string(row.text("secret_id")),
                                    std::string(row.text_or_null("secret_org_id").value_or("")),
                                    std::string(row.text("secret_kind"))};
    std::optional<std::string> key = services.secrets.open(identity, config::stored_secret(row));
    if (!key) return std::nullopt;
    request.endpoint.api_key = std::move(*key);
  }
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  request.timeouts.connect_ms = settings->integer("model.connect_timeout_ms");
  request.timeouts.first_byte_ms = settings->integer("model.first_byte_timeout_ms");
  request.timeouts.idle_ms = settings->integer("model.idle_timeout_ms");
  return request;
}

}  // namespace

ModelTests::ModelTests(AgentServices& services)
    : services_(services), turns_(org_tests_max), tests_(services.loop, log_test_failure) {}

void ModelTests::look() {
  again_ = true;
  notified_.notify();
}

Task<void> ModelTests::test_forever() {
  for (;;) {
    if (!again_) co_await notified_.wait_for(services_.loop, poll_ms);
    again_ = false;
    co_await claim();
  }
}

Task<void> ModelTests::claim() {
  while (!is_stopped_ && tests_.size() < tests_max) {
    postgres::Batch batch;
    batch.add(query::ModelTestClaim{.full_orgs = turns_.passed_over()});
    postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
    if (outcome.error) co_return;
    if (outcome.results.at(0).empty()) {
      if (!turns_.begin_round()) co_return;
      continue;
    }
    std::string test_id(outcome.results.at(0).front().text("test_id"));
    tests_.add(test_id, test(std::move(outcome.results.at(0))));
  }
}

Task<void> ModelTests::test(postgres::Result claimed) {
  postgres::Row row = claimed.front();
  bool is_org_scope = row.boolean("is_org_scope");
  OrgTurns::Slot slot(turns_, std::string(is_org_scope ? row.text("org_id") : platform_org),
                      std::string(row.text("created_by")));
  std::optional<ModelRequest> request = request_of(services_, row);
  std::string result(unreadable_key);
  if (request) {
    Task<std::string> checking =
        check_model(services_.loop, services_.http, *std::move(request), test_limit_ms);
    result = co_await checking;
  }
  postgres::BoundStatement storing =
      query::ModelTestStore{.test_id = row.text("test_id"), .result = std::move(result)};
  co_await postgres::dedicated_with_retry(services_.loop, services_.db, std::move(storing));
  look();
}

}  // namespace hostler::runner
