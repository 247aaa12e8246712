// Webhook endpoints of an organization and what waits for them, for tests below the API.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "queries/outbox.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {

class WebhookFixture : public ::testing::Test {
 protected:
  std::string new_endpoint() {
    return fixture_.column(fmt::format(
        "WITH s AS (INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) "
        "VALUES "
        "(uuidv7(), '{0}', 'webhook', 1, 'x', 'x') RETURNING id) INSERT INTO webhook_endpoints "
        "(org_id, url, events, secret_id) SELECT '{0}', 'https://example.org', "
        "'{{run.completed}}', "
        "id FROM s RETURNING id",
        fixture_.org_id));
  }
  void add_messages(const std::string& endpoint_id, int count) {
    fixture_.column(fmt::format(
        "INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body) SELECT '{}', 'webhook', "
        "'{}', 'run.completed', '{{}}' FROM generate_series(1, {})",
        fixture_.org_id, endpoint_id, count));
  }
  // The endpoints of what a daemon would claim, by id, each as often as it has messages.
  // Nothing stays claimed.
  std::string claimed(int64_t limit = 100, int64_t endpoints_max = 1000,
                      const std::string& after_endpoint_id = no_endpoint) {
    postgres::DbSession runner = database_.as_runner();
    runner.begin();
    postgres::Result messages = claim_in(runner, limit, endpoints_max, after_endpoint_id);
    std::multiset<std::string> endpoints;
    for (int i = 0; i < messages.size(); ++i) {
      endpoints.emplace(messages[i].text("endpoint_id"));
    }
    runner.rollback();
    return fmt::format("{}", fmt::join(endpoints, " "));
  }

  // Like a daemon, in the session's transaction.
  postgres::Result claim_in(postgres::DbSession& runner, int64_t limit, int64_t endpoints_max,
                            const std::string& after_endpoint_id) {
    if (daemon_id_.empty()) daemon_id_ = fixture_.new_daemon("a");
    runner.run(query::OutboxClaimLock{});
    runner.run(query::OutboxWake{});
    return runner.run(query::OutboxClaimWebhooks{.daemon_id = daemon_id_,
                                                 .limit = limit,
                                                 .lease_seconds = 60,
                                                 .endpoint_max = 50,
                                                 .org_max = 50,
                                                 .after_endpoint_id = after_endpoint_id,
                                                 .endpoints_max = endpoints_max});
  }

  static constexpr const char* no_endpoint = "00000000-0000-0000-0000-000000000000";
  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string daemon_id_;
};

}  // namespace hostler::testing_support
