// See tests/support/rigs/webhook_harness.h.
#include "tests/support/rigs/webhook_harness.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {

ApiStack& webhook_stack() {
  static ApiStack made(
      ApiStackOptions{{"HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file(),
                       "HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8",
                       "HOSTLER_WEBHOOK_TIMEOUT_MS=2000", "HOSTLER_RUN_LEASE_SECONDS=2"},
                      true});
  static const bool is_ready = [] {
    add_fake_model(made);
    return true;
  }();
  EXPECT_TRUE(is_ready);
  return made;
}

OutsidePeer& receiver() {
  static std::unique_ptr<OutsidePeer> peer = start_receiver();
  return *peer;
}

Endpoint add_endpoint_at(const TestUser& user, const std::string& url, std::string_view events) {
  Answer made =
      user.client.post(webhooks_path, fmt::format(R"({{"url":"{}","events":[{}]}})", url, events));
  EXPECT_EQ(made.status, 201) << made.body;
  return {made.member("id"), made.member("signing_secret")};
}

Endpoint add_endpoint(const TestUser& user, const std::string& path, std::string_view events) {
  return add_endpoint_at(user, receiver().url(path), events);
}

Json delivery_of(const TestUser& user, const std::string& endpoint_id) {
  Json list = user.client.get(fmt::format("{}/{}/deliveries", webhooks_path, endpoint_id)).json();
  return list.as_array()->empty() ? Json() : list.as_array()->front();
}

Json wait_for_delivery(const TestUser& user, const std::string& endpoint_id,
                       std::string_view status, int64_t attempts_min) {
  Json delivery;
  EXPECT_TRUE(eventually(20'000, [&] {
    delivery = delivery_of(user, endpoint_id);
    return delivery.text_or("status") == status &&
           delivery.integer_or("attempts", -1) >= attempts_min;
  })) << delivery.dump();
  return delivery;
}

std::vector<Json> received_at(const std::string& path) {
  std::vector<Json> ours;
  for (Json& record : receiver().records()) {
    if (record.text_or("path") == path) ours.push_back(std::move(record));
  }
  return ours;
}

std::string field(const Json& record, std::string_view name) {
  return std::string(record.find("headers")->text_or(name));
}

std::string signature_by_openssl(const std::string& secret, const Json& record) {
  std::string key = to_hex(from_base64(secret.substr(6)).value());
  std::string text = fmt::format("{}.{}.{}", field(record, "webhook-id"),
                                 field(record, "webhook-timestamp"), record.text_or("body"));
  std::string command = fmt::format(
      "printf %s \"$TEXT\" | openssl dgst -sha256 -mac HMAC -macopt hexkey:{} -binary | base64 -w0",
      key);
  ProgramRun run = run_program({"/bin/sh", "-c", command}, {"TEXT=" + text});
  return "v1," + run.out;
}

std::string verifier_folder() {
  const std::filesystem::path folder =
      std::filesystem::absolute(build_folder()).lexically_normal() / "verifier";
  std::filesystem::create_directories(folder);
  for (const char* name : {"package.json", "package-lock.json"}) {
    std::filesystem::copy_file(std::string("tests/support/verifier/") + name, folder / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  if (std::filesystem::exists(folder / "node_modules/standardwebhooks")) return folder.string();
  ProgramRun run = run_program({"/usr/bin/env", "npm", "ci", "--prefix", folder.string(),
                                "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
                                "--fetch-retries=0", "--fetch-timeout=20000"});
  return run.status == 0 ? folder.string() : "";
}

std::string verified(const std::string& folder, const std::string& secret, const Json& record,
                     const std::string& body) {
  JsonWriter json;
  json.begin_object().member("secret", secret).member("body", body);
  json.member_raw("headers", record.find("headers")->dump()).end_object();
  return run_program({"/usr/bin/env", "node", "tests/support/verifier/verify.cjs", folder}, {},
                     json.take())
      .out;
}

void make_due(const std::string& endpoint_id) {
  webhook_stack().sql().run_text(
      "UPDATE outbox SET next_attempt_at = clock_timestamp() WHERE status = "
      "'pending' AND owner_id IS NULL AND endpoint_id = '" +
      endpoint_id + "'");
}

}  // namespace hostler::testing_support
