// Guarded requests against canaries: listening sockets of this machine that nobody may touch,
// whatever name, form or redirect leads to them. And look-ups that are slow.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "lib/http/client.h"
#include "tests/support/eventually.h"
#include "tests/support/hostile_urls.h"
#include "tests/support/peers/fake_names.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::Canary;
using testing_support::FakeNames;
using testing_support::hostile_urls;
using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;
using testing_support::with_port;

class HttpGuardTest : public testing::Test {
 protected:
  HttpGuardTest() { std::signal(SIGPIPE, SIG_IGN); }

  static http::HttpRequest request_to(const std::string& url, bool guarded = true) {
    http::HttpRequest request;
    request.url = url;
    request.guarded = guarded;
    request.connect_timeout_ms = 5000;
    return request;
  }
  http::HttpAnswer fetch(http::HttpRequest request) {
    return run_task(loop_, client_.fetch(std::move(request)));
  }
  std::string outcome_of(http::HttpRequest request) {
    http::HttpAnswer answer = fetch(std::move(request));
    if (!answer.failure) return std::to_string(answer.head.status);
    return std::string(http::http_failure_name(answer.failure->kind));
  }

  loop::Loop loop_;
  http::HttpClient client_{loop_};
};

TEST_F(HttpGuardTest, ReachesNoCanaryByAnyHostileUrl) {
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
      std::string outcome = outcome_of(request_to(url));
      EXPECT_TRUE(outcome == "denied_address" || outcome == "bad_request" || outcome == "connect")
          << url << ": " << outcome;
      EXPECT_FALSE(canary->was_touched()) << url;
    }
  }
}

TEST_F(HttpGuardTest, DialsTheSameAddressesForAnOperator) {
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.answer("ok");
  });
  for (const char* host : {"127.0.0.1", "127.1", "2130706433", "0x7f000001", "localhost"}) {
    std::string url = "http://" + std::string(host) + ":" + std::to_string(server.port());
    EXPECT_EQ(outcome_of(request_to(url, false)), "200") << url;
    EXPECT_EQ(outcome_of(request_to(url)), "denied_address") << url;
  }
  EXPECT_EQ(server.connections(), 5);
}

TEST_F(HttpGuardTest, DoesNotUseAConnectionThatWasDialledForAnOperator) {
  std::atomic<int> requests{0};
  ScriptedServer server([&requests](Peer& peer) {
    while (!peer.read_request().empty()) {
      ++requests;
      peer.answer("secret");
    }
  });
  FakeNames names([](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; });
  std::string by_name = "http://inside.fake-names.test:" + std::to_string(server.port());
  for (const std::string& url : {server.url(), by_name}) {
    EXPECT_EQ(outcome_of(request_to(url, false)), "200");
    EXPECT_EQ(outcome_of(request_to(url, true)), "denied_address");
    EXPECT_EQ(outcome_of(request_to(url, false)), "200") << "and the operator still gets through";
  }
  EXPECT_EQ(requests, 4);
}

TEST_F(HttpGuardTest, ChecksAnOldConnectionByTheListOfNow) {
  std::atomic<int> requests{0};
  ScriptedServer server([&requests](Peer& peer) {
    while (!peer.read_request().empty()) {
      ++requests;
      peer.answer("ok");
    }
  });
  FakeNames names([](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; });
  std::string url = "http://inside.fake-names.test:" + std::to_string(server.port());
  client_.allow_cidrs(net::CidrList::parse({"127.0.0.0/8"}).value());
  EXPECT_EQ(outcome_of(request_to(url)), "200");
  EXPECT_EQ(outcome_of(request_to(url)), "200");
  EXPECT_EQ(server.connections(), 1);
  client_.allow_cidrs(net::CidrList());
  EXPECT_EQ(outcome_of(request_to(url)), "denied_address");
  EXPECT_EQ(requests, 2) << "no byte was sent on the kept connection";
}

TEST_F(HttpGuardTest, ChecksTheTargetOfEveryRedirect) {
  Canary canary;
  std::string target = "http://127.0.0.1:" + std::to_string(canary.port()) + "/";
  ScriptedServer server(
      [&target](Peer& peer) {
        for (std::string request = peer.read_request(); !request.empty();
             request = peer.read_request()) {
          // Two good hops, then the bad one.
          std::string to = request.starts_with("GET /1")   ? "/2"
                           : request.starts_with("GET /2") ? "/3"
                                                           : target;
          peer.send("HTTP/1.1 302 Found\r\nLocation: " + to + "\r\nContent-Length: 0\r\n\r\n");
        }
      },
      "127.0.0.77");
  client_.allow_cidrs(net::CidrList::parse({"127.0.0.77"}).value());
  http::HttpRequest request = request_to(server.url("/1"));
  request.follow_redirects_max = 5;
  for (const std::string& to : {target, "http://localhost:" + std::to_string(canary.port()),
                                "http://[::ffff:127.0.0.1]:" + std::to_string(canary.port()),
                                std::string("//127.0.0.1:") + std::to_string(canary.port())}) {
    target = to;
    EXPECT_EQ(outcome_of(request), "denied_address") << to;
  }
  for (const char* to :
       {"file:///etc/passwd", "gopher://127.0.0.1/_x", "http://user@127.0.0.77/"}) {
    target = to;
    EXPECT_EQ(outcome_of(request), "bad_request") << to;
  }
  EXPECT_FALSE(canary.was_touched());
}

TEST_F(HttpGuardTest, IsNotFooledByNamesThatFlip) {
  Canary canary;
  std::atomic<int> lookups{0};
  // A checker that resolves first and dials later would see a public address first.
  FakeNames names([&lookups](const std::string&) {
    bool is_first = lookups++ % 2 == 0;
    return std::vector<std::string>{is_first ? "192.0.2.1" : "127.0.0.1"};
  });
  for (int i = 0; i < 500; ++i) {
    std::string url = "http://n" + std::to_string(i / 2) +
                      ".fake-names.test:" + std::to_string(canary.port()) + "/";
    http::HttpClient fresh(loop_);  // with no remembered look-up
    http::HttpAnswer answer = run_task(loop_, fresh.fetch(request_to(url)));
    ASSERT_TRUE(answer.failure);
    EXPECT_EQ(http::http_failure_name(answer.failure->kind), "denied_address");
  }
  EXPECT_EQ(lookups, 500);
  EXPECT_FALSE(canary.was_touched());
}

TEST_F(HttpGuardTest, DialsOnlyTheGoodAddressesOfAName) {
  ScriptedServer good(
      [](Peer& peer) {
        peer.read_request();
        peer.answer("good");
      },
      "127.0.0.77");
  client_.allow_cidrs(net::CidrList::parse({"127.0.0.77"}).value());
  FakeNames names([](const std::string&) {
    return std::vector<std::string>{"127.0.0.1", "10.0.0.1", "::1", "127.0.0.77"};
  });
  std::string url = "http://mixed.fake-names.test:" + std::to_string(good.port());
  EXPECT_EQ(fetch(request_to(url)).body, "good");
}

TEST_F(HttpGuardTest, ReachesNamesInOtherScripts) {
  ScriptedServer server([](Peer& peer) { peer.answer(peer.read_request()); });
  std::string asked;
  FakeNames names([&asked](const std::string& name) {
    asked = name;
    return std::vector<std::string>{"127.0.0.1"};
  });
  std::string url = "http://B\u00fccher.fake-names.test:" + std::to_string(server.port());
  http::HttpAnswer answer = fetch(request_to(url, false));
  EXPECT_EQ(asked, "xn--bcher-kva.fake-names.test");
  EXPECT_NE(answer.body.find("\r\nHost: xn--bcher-kva.fake-names.test:"), std::string::npos)
      << answer.body;
}

TEST_F(HttpGuardTest, RefusesPortsOfOtherServicesBeforeDialling) {
  FakeNames names([](const std::string&) { return std::vector<std::string>{"8.8.8.8"}; });
  for (int port : {22, 25, 5432, 6379}) {
    std::string url = "http://public.fake-names.test:" + std::to_string(port);
    EXPECT_EQ(outcome_of(request_to(url)), "denied_address") << port;
  }
}

Task<void> fetch_and_count(http::HttpClient& client, http::HttpRequest request, int& ended) {
  http::HttpAnswer answer = co_await client.fetch(std::move(request));
  if (!answer.failure) ++ended;
}

TEST_F(HttpGuardTest, WaitsForASlowLookUpWithoutStallingOthers) {
  ScriptedServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.answer("ok");
  });
  std::atomic<bool> may_answer{false};
  FakeNames names([&may_answer](const std::string& name) {
    if (name.starts_with("slow")) may_answer.wait(false);
    return std::vector<std::string>{"127.0.0.1"};
  });
  std::string port = std::to_string(server.port());
  int slow_ended = 0;
  Task<void> slow[2];
  for (int i = 0; i < 2; ++i) {
    std::string url = "http://slow" + std::to_string(i) + ".fake-names.test:" + port;
    slow[i] = fetch_and_count(client_, request_to(url, false), slow_ended);
    EXPECT_FALSE(slow[i].start(nullptr));
  }
  // Another name and an address are served while two look-ups hang.
  EXPECT_EQ(outcome_of(request_to("http://quick.fake-names.test:" + port, false)), "200");
  EXPECT_EQ(outcome_of(request_to(server.url(), false)), "200");
  EXPECT_EQ(slow_ended, 0);
  // Its own limit holds although the look-up does not come back.
  http::HttpRequest limited = request_to("http://slow2.fake-names.test:" + port, false);
  limited.connect_timeout_ms = 30;
  EXPECT_EQ(outcome_of(limited), "timeout_connect");
  // Giving one up does not wait for its thread, which is still held here.
  slow[0].cancel();
  may_answer = true;
  may_answer.notify_all();
  EXPECT_TRUE(testing_support::eventually(20'000, [&] {
    loop_.run_once();
    return slow_ended != 0;
  }));
  EXPECT_TRUE(slow[1].done());
}

}  // namespace
}  // namespace hostler
