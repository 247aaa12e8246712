// Listings of MCP servers by the real daemon, where servers do not answer.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/remote_harness.h"

namespace hostler::testing_support {
namespace {

TEST(RemoteListings, OfOneOrganizationDelayNobodyElses) {
  ScriptedServer silent([](Peer& peer) { peer.wait_for_close(); });
  TestUser slow = register_user(webhook_stack());
  std::vector<std::string> servers;
  // More than all slots are free for in a minute.
  for (int i = 0; i < 45; ++i) {
    Answer made = slow.client.post(
        "/v1/mcp-servers?scope=org",
        fmt::format(R"({{"key":"s{}","url":"{}","authorization":{{"type":"none"}}}})", i,
                    silent.url()));
    ASSERT_EQ(made.status, 201) << made.body;
    servers.push_back(made.member("id"));
  }
  EXPECT_TRUE(eventually(20'000, [&] { return silent.connections() >= 2; }));
  make_remote("modern/json");  // waits until it is listed
  for (const std::string& id : servers) {
    EXPECT_EQ(slow.client.del("/v1/mcp-servers/" + id + "?scope=org").status, 204);
  }
}

}  // namespace
}  // namespace hostler::testing_support
