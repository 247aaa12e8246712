// MCP servers of organizations at addresses that nobody may be sent to: nothing is dialled, be the
// URL the server's own or one that a server names to be authorized.
#include <gtest/gtest.h>

#include <atomic>

#include "runner/mcp/rpc_exchange.h"
#include "runner/oauth/token_request.h"
#include "tests/support/hostile_urls.h"
#include "tests/support/peers/fake_names.h"
#include "tests/support/rigs/tool_fixture.h"

namespace hostler::runner {
namespace {

using testing_support::Canary;
using testing_support::FakeNames;
using testing_support::hostile_urls;
using testing_support::run_task;
using testing_support::with_port;

class RemoteGuard : public testing::Test {
 protected:
  RpcAnswer answer_of(http::HttpClient& http, const std::string& url) {
    OAuthServices services{fixture_.loop(), fixture_.db(), http, fixture_.secrets(), settings_};
    RpcTarget target;
    target.url = url;
    target.is_org_scope = true;
    target.limit_ms = 5000;
    RpcMessage message;
    message.method = "tools/list";
    message.id = "1";
    return run_task(fixture_.loop(), exchange_rpc(services, target, Speech(), message, nullptr));
  }

  testing_support::ToolFixture fixture_;
  config::LiveSettings settings_{fixture_.settings()};
};

TEST_F(RemoteGuard, ReachesNoCanaryByAnyHostileUrl) {
  static_assert(std::size(hostile_urls) >= 120);
  FakeNames names([](const std::string&) { return std::vector<std::string>(); });
  Canary everywhere_v4("0.0.0.0");
  Canary everywhere_v6("::");
  ASSERT_TRUE(everywhere_v4.is_listening());
  for (Canary* canary : {&everywhere_v4, &everywhere_v6}) {
    if (!canary->is_listening()) continue;
    for (const char* hostile : hostile_urls) {
      std::string url = with_port(hostile, canary->port());
      if (url.find("example.com#@") != std::string::npos) continue;  // a public name
      RpcAnswer answer = answer_of(fixture_.http(), url);
      EXPECT_EQ(answer.kind, RpcAnswer::Kind::failed) << url;
      EXPECT_FALSE(answer.was_heard) << url;
      // A server's word about its authorization server, also of the platform's own.
      OAuthReach asked{false, "https://mcp.example/mcp"};
      http::HttpAnswer fetched =
          run_task(fixture_.loop(), fixture_.http().fetch(bounded_request(url, asked)));
      EXPECT_TRUE(fetched.failure) << url;
      EXPECT_FALSE(canary->was_touched()) << url;
    }
  }
}

TEST_F(RemoteGuard, IsNotFooledByNamesThatFlip) {
  Canary canary;
  std::atomic<int> lookups{0};
  FakeNames names([&lookups](const std::string&) {
    bool is_first = lookups++ % 2 == 0;
    return std::vector<std::string>{is_first ? "192.0.2.1" : "127.0.0.1"};
  });
  for (int i = 0; i < 500; ++i) {
    std::string url = "http://n" + std::to_string(i / 2) +
                      ".fake-names.test:" + std::to_string(canary.port()) + "/mcp";
    http::HttpClient fresh(fixture_.loop());  // with no remembered look-up
    RpcAnswer answer = answer_of(fresh, url);
    ASSERT_EQ(answer.kind, RpcAnswer::Kind::failed);
    EXPECT_TRUE(answer.is_denied);
  }
  EXPECT_EQ(lookups, 500);
  EXPECT_FALSE(canary.was_touched());
}

}  // namespace
}  // namespace hostler::runner
