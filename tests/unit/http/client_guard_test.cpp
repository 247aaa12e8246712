// Guarded requests against canaries: listening sockets of this machine that nobody may touch,
// whatever name, form or redirect leads to them. And look-ups that are slow.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "lib/http/client.h"
#include "tests/support/eventually.h"
#include "tests/support/peers/fake_names.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::Canary;
using testing_support::FakeNames;
using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;

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

// # is the canary's port.
constexpr const char* hostile_urls[] = {
    // Loopback, in the forms that parsers have fallen for.
    "http://127.0.0.1:#/", "http://127.0.0.1:#", "http://127.0.0.1.:#/", "http://127.1:#/",
    "http://127.0.1:#/", "http://127.255.255.255:#/", "http://127.0.0.2:#/", "http://0:#/",
    "http://0.0.0.0:#/", "http://0.0:#/", "http://00.0.0.0:#/", "http://2130706433:#/",
    "http://017700000001:#/", "http://0177.0.0.1:#/", "http://0177.0.0.01:#/",
    "http://0x7f.0.0.1:#/", "http://0x7f000001:#/", "http://0x7f.1:#/",
    "http://0X7F.0x0.0x0.0x1:#/", "http://127.0x1:#/", "http://127.0.0x0.1:#/",
    "http://00000177.1:#/", "http://4294967296:#/", "http://6425673729:#/",
    "http://127.000.000.001:#/", "http://0000127.0.0.1:#/", "http://localhost:#/",
    "http://LOCALHOST:#/", "http://localhost.:#/", "http://LocalHost:#/", "http://app.localhost:#/",
    "http://localhost.localdomain:#/", "http://ip6-localhost:#/", "http://ip6-loopback:#/",
    "http://%6c%6f%63%61%6c%68%6f%73%74:#/", "http://127%2e0%2e0%2e1:#/",
    "http://%31%32%37.0.0.1:#/", "http://%35:#/", "http://127.0.0.1%00.example.com:#/",
    "http://127.0.0.1%20:#/",
    // Other scripts and full stops.
    "http://\u2460\u2461\u2466.0.0.1:#/", "http://127\u30020\u30020\u30021:#/",
    "http://127\uFF0E0\uFF0E0\uFF0E1:#/", "http://\uFF11\uFF12\uFF17.0.0.1:#/",
    "http://\uFF4C\uFF4F\uFF43\uFF41\uFF4C\uFF48ost:#/", "http://l\u24DEcalhost:#/",
    // IPv6.
    "http://[::1]:#/", "http://[::]:#/", "http://[0:0:0:0:0:0:0:1]:#/", "http://[0000::0001]:#/",
    "http://[::0001]:#/", "http://[::127.0.0.1]:#/", "http://[::ffff:127.0.0.1]:#/",
    "http://[::ffff:7f00:1]:#/", "http://[::FFFF:7F00:0001]:#/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]:#/", "http://[::ffff:0.0.0.0]:#/",
    "http://[::ffff:0:127.0.0.1]:#/", "http://[64:ff9b::7f00:1]:#/",
    "http://[64:ff9b::127.0.0.1]:#/", "http://[64:ff9b:1::7f00:1]:#/", "http://[2002:7f00:1::]:#/",
    "http://[2002:7f00:0001::1]:#/", "http://[2001:0:7f00:1::]:#/", "http://[fe80::1]:#/",
    "http://[fe80::1%25lo]:#/", "http://[fe80::1%lo]:#/", "http://[::1%25lo]:#/",
    "http://[::1%25]:#/", "http://[fc00::1]:#/", "http://[fd00::1]:#/", "http://[fec0::1]:#/",
    "http://[ff02::1]:#/", "http://[ff01::1]:#/", "http://[100::1]:#/", "http://[2001:db8::1]:#/",
    "http://[5f00::1]:#/", "http://[v1.127.0.0.1]:#/", "http://[127.0.0.1]:#/", "http://[::1.]:#/",
    "http://[[::1]]:#/",
    // Private, shared, link-local, platform, reserved, multicast, documentation, benchmark.
    "http://10.0.0.1:#/", "http://10.255.255.255:#/", "http://172.16.0.1:#/",
    "http://172.31.255.254:#/", "http://192.168.0.1:#/", "http://192.168.1.1:#/",
    "http://3232235777:#/", "http://0xc0a80101:#/", "http://100.64.0.1:#/",
    "http://100.100.100.200/latest/meta-data/", "http://169.254.169.254/",
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/latest/meta-data/",
    "http://0xa9fea9fe/", "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/",
    "http://[fd00:ec2::254]/latest/meta-data/", "http://168.63.129.16/",
    "http://192.0.0.192/opc/v2/", "http://169.254.0.1:#/", "http://192.0.0.1:#/",
    "http://192.0.2.1:#/", "http://192.88.99.1:#/", "http://198.18.0.1:#/",
    "http://198.51.100.1:#/", "http://203.0.113.1:#/", "http://224.0.0.1:#/",
    "http://239.255.255.250:1900/", "http://240.0.0.1:#/", "http://255.255.255.255:#/",
    // User info, fragments, slashes: which part is the host?
    "http://example.com@127.0.0.1:#/", "http://127.0.0.1:#@127.0.0.1:#/", "http://u:p@127.0.0.1:#/",
    "http://@127.0.0.1:#/", "http://:@127.0.0.1:#/", "http://example.com#@127.0.0.1:#/x",
    "http://127.0.0.1:#\\@example.com/", "http://127.0.0.1\\:#/", "http:\\\\127.0.0.1:#/",
    "http:/127.0.0.1:#/", "http:127.0.0.1:#/", "http:///127.0.0.1:#/", "http:////127.0.0.1:#/",
    "//127.0.0.1:#/", "127.0.0.1:#/", "http://127.0.0.1 :#/", "http:// 127.0.0.1:#/",
    " http://127.0.0.1:#/", "http://127.0.0.1\t:#/", "http://127.0.0.1\r\nHost: x:#/",
    "http://127.0.0.1:#/ HTTP/1.1\r\nX: y", "http://127.0.0.1:0#/", "http://127.0.0.1:+#/",
    "http://127.0.0.1:#:#/", "http://127.0.0.1:", "http://127.0.0.1:99999/",
    // Other schemes.
    "https://127.0.0.1:#/", "https://localhost:#/", "HTTPS://[::1]:#/", "HtTp://127.0.0.1:#/",
    "gopher://127.0.0.1:#/_x", "dict://127.0.0.1:#/x", "ftp://127.0.0.1:#/", "tftp://127.0.0.1:#/x",
    "ldap://127.0.0.1:#/", "imap://127.0.0.1:#/", "smtp://127.0.0.1:#/", "telnet://127.0.0.1:#/",
    "rtsp://127.0.0.1:#/", "mqtt://127.0.0.1:#/x", "smb://127.0.0.1:#/x", "scp://127.0.0.1:#/x",
    "ws://127.0.0.1:#/", "file:///etc/passwd", "file://127.0.0.1/etc/passwd",
    "jar:http://127.0.0.1:#/!/", "unix:///run/x.sock", "http+unix://%2frun%2fx.sock/",
    "data:text/plain,x", "javascript:1", "x://y", "", ":", "://", "http", "http:", "http:/",
    "http://", "http://:#/", "http://.:#/", "http://..:#/"};

std::string with_port(std::string url, int port) {
  for (size_t at = url.find('#'); at != std::string::npos; at = url.find('#', at)) {
    // The one real fragment of the list is followed by @.
    if (url.compare(at, 2, "#@") == 0 && url.find("com#") != std::string::npos) {
      ++at;
      continue;
    }
    url.replace(at, 1, std::to_string(port));
  }
  return url;
}

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
