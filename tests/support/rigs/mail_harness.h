// Queued mails, what became of them, and mail settings, for tests of the real daemon.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/rigs/api_stack.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

inline std::unique_ptr<ApiStack> start_mail_stack(std::vector<std::string> settings) {
  settings.push_back("HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file());
  return std::make_unique<ApiStack>(ApiStackOptions{std::move(settings), true});
}

// In a transaction of its own, as a definer function does it in that of its cause.
inline std::string queue_mail(ApiStack& stack, std::string_view to,
                              std::string_view fields = R"({"username": "Ada", "minutes": 60})",
                              std::string_view locale = "en") {
  return sql_value(stack, fmt::format("SELECT mail_queue('verify_email', '{}', '{}', '{}')", to,
                                      locale, fields));
}

inline std::string of_mail(ApiStack& stack, const std::string& id, std::string_view column) {
  return sql_value(
      stack, fmt::format("SELECT coalesce({}::text, '') FROM outbox WHERE id = '{}'", column, id));
}

inline std::string wait_for_mail(ApiStack& stack, const std::string& id, std::string_view status,
                                 std::string_view attempts) {
  std::string current;
  EXPECT_TRUE(eventually(20'000,
                         [&] {
                           current = of_mail(stack, id, "status");
                           return current == status && of_mail(stack, id, "attempts") == attempts;
                         }))
      << id << " is " << current;
  return current;
}

// How often a server was given the mail; registration sends others.
inline size_t copies_of(const std::string& id, const OutsidePeer& server) {
  size_t copies = 0;
  for (const Json& record : server.records()) {
    copies += record.text_or("message").find("Message-ID: <" + id) != std::string::npos ? 1 : 0;
  }
  return copies;
}

inline void configure_mail(const TestUser& admin, int port, std::string_view tls) {
  Answer stored = admin.client.put(
      "/v1/admin/email/config",
      fmt::format(R"({{"from":"hostler@example.org","smtp_host":"127.0.0.1","smtp_port":{},)"
                  R"("smtp_tls_mode":"{}"}})",
                  port, tls));
  ASSERT_EQ(stored.status, 204) << stored.body;
}

}  // namespace hostler::testing_support
