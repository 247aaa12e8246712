// Redirects: followed when asked, so often and no further, and without secrets. That each target is
// checked stands in client_guard_test.cpp.
#include <gtest/gtest.h>

#include <csignal>

#include "lib/http/client.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;

class HttpRedirectTest : public testing::Test {
 protected:
  HttpRedirectTest() { std::signal(SIGPIPE, SIG_IGN); }

  static http::HttpRequest request_to(const std::string& url) {
    http::HttpRequest request;
    request.url = url;
    request.guarded = false;
    return request;
  }
  http::HttpAnswer fetch(http::HttpRequest request) {
    return run_task(loop_, client_.fetch(std::move(request)));
  }
  http::HttpFailureKind failure_of(http::HttpRequest request) {
    http::HttpAnswer answer = fetch(std::move(request));
    EXPECT_TRUE(answer.failure.has_value()) << answer.head.status << " " << answer.body;
    return answer.failure ? answer.failure->kind : http::HttpFailureKind::bad_request;
  }

  loop::Loop loop_;
  http::HttpClient client_{loop_};
};

// Answers GET /from with a redirect to `target`, everything else with its own request.
ScriptedServer redirecting_to(std::string status, std::string target) {
  return ScriptedServer([status, target](Peer& peer) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      if (request.find(" /from ") == std::string::npos) {
        peer.answer(request);
      } else {
        peer.send("HTTP/1.1 " + status + " Moved\r\nLocation: " + target +
                  "\r\nContent-Length: 0\r\n\r\n");
      }
    }
  });
}

TEST_F(HttpRedirectTest, FollowsRedirectsOnlyWhenAskedAndOnlySoOften) {
  ScriptedServer server = redirecting_to("302", "../to?x#part");
  http::HttpRequest request = request_to(server.url("/from"));
  http::HttpAnswer unfollowed = fetch(request);
  EXPECT_EQ(unfollowed.head.status, 302);
  EXPECT_FALSE(unfollowed.failure);
  request.follow_redirects_max = 1;
  request.headers = {{"Authorization", "Bearer secret"}};
  http::HttpAnswer answer = fetch(request);
  EXPECT_EQ(answer.head.status, 200);
  EXPECT_EQ(answer.head.final_url, server.url("/to?x"));
  EXPECT_NE(answer.body.find("Bearer secret"), std::string::npos);

  ScriptedServer loop_server = redirecting_to("307", "/from");
  request = request_to(loop_server.url("/from"));
  request.follow_redirects_max = 5;
  EXPECT_EQ(failure_of(request), http::HttpFailureKind::too_many_redirects);
  EXPECT_LE(loop_server.connections(), 6);
}

TEST_F(HttpRedirectTest, TakesNoSecretToAnotherOrigin) {
  ScriptedServer target([](Peer& peer) { peer.answer(peer.read_request()); });
  ScriptedServer server = redirecting_to("307", target.url("/to"));
  http::HttpRequest request = request_to(server.url("/from"));
  request.follow_redirects_max = 5;
  request.headers = {
      {"Authorization", "Bearer secret"}, {"X-Api-Key", "secret"}, {"Accept", "a/b"}};
  http::HttpAnswer answer = fetch(request);
  EXPECT_EQ(answer.head.final_url, target.url("/to"));
  EXPECT_EQ(answer.body.find("secret"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("Accept: a/b"), std::string::npos) << answer.body;
}

TEST_F(HttpRedirectTest, TurnsAPostIntoAGetWhereBrowsersDo) {
  for (const char* status : {"301", "302", "303"}) {
    ScriptedServer server = redirecting_to(status, "/to");
    http::HttpRequest request = request_to(server.url("/from"));
    request.method = "POST";
    request.body = "body";
    request.follow_redirects_max = 1;
    EXPECT_TRUE(fetch(request).body.starts_with("GET /to ")) << status;
  }
  for (const char* status : {"307", "308"}) {
    ScriptedServer server = redirecting_to(status, "/to");
    http::HttpRequest request = request_to(server.url("/from"));
    request.method = "POST";
    request.body = "body";
    request.follow_redirects_max = 1;
    std::string body = fetch(request).body;
    EXPECT_TRUE(body.starts_with("POST /to ") && body.ends_with("body")) << status << body;
  }
}

}  // namespace
}  // namespace hostler
