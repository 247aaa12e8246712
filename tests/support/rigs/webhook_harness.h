// Webhooks with the real daemon and a real receiver with TLS: endpoints, what was delivered to them
// and what arrived. Times that the contract gives in hours are compressed by moving
// next_attempt_at, never by another schedule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {

inline constexpr const char* webhooks_path = "/v1/webhook-endpoints";

// Started at the first call; webhook.timeout_ms and run.lease_seconds are 2 s there.
ApiStack& webhook_stack();
OutsidePeer& receiver();

struct Endpoint {
  std::string id;
  std::string secret;
  std::string at(const std::string& further = "") const {
    return std::string(webhooks_path) + "/" + id + further;
  }
};

Endpoint add_endpoint_at(const TestUser& user, const std::string& url,
                         std::string_view events = R"("run.completed")");
// path: of the receiver, with what makes its records ours.
Endpoint add_endpoint(const TestUser& user, const std::string& path,
                      std::string_view events = R"("run.completed")");

// The newest, or null.
Json delivery_of(const TestUser& user, const std::string& endpoint_id);
// Asks until its newest delivery has this status, 20 s at most.
Json wait_for_delivery(const TestUser& user, const std::string& endpoint_id,
                       std::string_view status, int64_t attempts_min = 0);
// Makes waiting ones due now.
void make_due(const std::string& endpoint_id);

std::vector<Json> received_at(const std::string& path);
// A header field of what was received.
std::string field(const Json& record, std::string_view name);
// Computed by OpenSSL's command line, which knows nothing of our code.
std::string signature_by_openssl(const std::string& secret, const Json& record);

// The folder of the published verifier, the package standardwebhooks, as npm installs it, with the
// digests of tests/support/verifier; empty where there is no Node.js, or no registry to have it
// from.
std::string verifier_folder();
// "verified TYPE" and a line end, or "refused: " and why.
std::string verified(const std::string& folder, const std::string& secret, const Json& record,
                     const std::string& body);

}  // namespace hostler::testing_support
