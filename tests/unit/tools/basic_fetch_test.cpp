// The page reader of our own, behind web_fetch: what it makes of pages, redirects and failures.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/peers/fake_names.h"
#include "tests/support/rigs/tool_fixture.h"

namespace hostler {
namespace {

using runner::ToolOutcome;
using testing_support::Canary;
using testing_support::FakeNames;
using testing_support::http_answer;
using testing_support::KeepingPeer;
using testing_support::Peer;
using testing_support::ScriptedServer;
using testing_support::ToolFixture;

// It may dial 127.0.0.1, where the tests' pages are, and no other address of this machine.
class BasicFetch : public testing::Test {
 protected:
  BasicFetch() {
    fixture_.set("web_fetch.provider", std::string("basic"));
    fixture_.set("outbound.allow_cidrs", std::vector<std::string>{"127.0.0.1/32"});
  }
  ToolOutcome fetch(std::string_view url, std::string_view more = "") {
    return fixture_.call("web_fetch", R"({"url":)" + json_quote(url) + std::string(more) + "}");
  }
  std::string code_of(std::string_view url) {
    ToolOutcome outcome = fetch(url);
    return outcome.error_code.empty() ? "ok" : outcome.error_code;
  }
  // Returns what our own reader makes of an answer.
  ToolOutcome read(const std::string& answer, std::string_view more = "") {
    KeepingPeer peer(answer);
    return fetch(peer.url("/p"), more);
  }
  std::string content_of(const std::string& answer, std::string_view more = "") {
    ToolOutcome outcome = read(answer, more);
    std::optional<Json> reported = parse_json_or_nothing(outcome.result);
    return reported ? std::string(reported->text_or("content")) : outcome.error_code;
  }
  ToolFixture fixture_;
};

TEST_F(BasicFetch, FollowsFiveRedirectsAndNoMore) {
  std::atomic<int> left{0};
  ScriptedServer server([&](Peer& peer) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      if (left-- > 0) {
        peer.send("HTTP/1.1 302 X\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n");
      } else {
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx");
      }
    }
  });
  left = 5;
  EXPECT_EQ(fetch(server.url("/")).result, R"({"url":")" + server.url("/next") +
                                               R"(","title":"","content":"x","truncated":false})");
  left = 6;
  EXPECT_EQ(code_of(server.url("/")), "tool.fetch_failed");
}

TEST_F(BasicFetch, ChecksEveryRedirect) {
  FakeNames names([](const std::string&) { return std::vector<std::string>{"10.0.0.1", "::1"}; });
  Canary canary("127.0.0.2");
  std::string canary_url = "http://127.0.0.2:" + std::to_string(canary.port()) + "/";
  for (const std::string& url : std::vector<std::string>{
           canary_url, "http://private.fake-names.test/", "http://10.0.0.1/", "file:///etc/passwd",
           "http://u@127.0.0.1/", "gopher" + canary_url.substr(4)}) {
    EXPECT_EQ(read("HTTP/1.1 302 X\r\nLocation: " + url +
                   "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                  .error_code,
              "tool.url_denied")
        << url;
  }
  EXPECT_FALSE(canary.was_touched());
}

TEST_F(BasicFetch, ReadsHtmlItself) {
  KeepingPeer peer(http_answer("200", "text/html; charset=iso-8859-1",
                               "<title>T</title><script>no</script><p>Caf\xe9 &amp; more</p>"));
  EXPECT_EQ(fetch(peer.url("/p?q#f")).result,
            R"({"url":")" + peer.url("/p?q") +
                R"(","title":"T","content":"Café & more","truncated":false})");
  EXPECT_TRUE(peer.was_sent("GET /p?q HTTP/1.1\r\n"));
  EXPECT_TRUE(peer.was_sent("\r\nUser-Agent: Hostler/"));
}

TEST_F(BasicFetch, ReadsTextAsItIs) {
  EXPECT_EQ(content_of(http_answer("200", "text/plain", "a <b>\n  世")), "a <b>\n  世");
  EXPECT_EQ(content_of(http_answer("200", "application/json", R"({"a":[1]})")), R"({"a":[1]})");
  EXPECT_EQ(content_of(http_answer("200", "application/ld+json", "{}")), "{}");
  EXPECT_EQ(content_of(http_answer("200", "TEXT/CSV; header=present", "a,b")), "a,b");
  EXPECT_EQ(content_of(http_answer("200", "application/rss+xml", "<rss>x</rss>")), "<rss>x</rss>");
  EXPECT_EQ(content_of(http_answer("200", "text/plain", "x\xff\xe4")), "x\uFFFD\uFFFD");
  EXPECT_EQ(content_of(http_answer("200", "text/plain", "")), "");
  // Without a type the page is looked at.
  EXPECT_EQ(content_of(http_answer("200", "", " <p>a<br>b")), "a\nb");
  EXPECT_EQ(content_of(http_answer("200", "", "a < b")), "a < b");
}

TEST_F(BasicFetch, RefusesWhatIsNoText) {
  for (const char* type : {"application/pdf", "image/png", "image/svg+xml", "video/mp4",
                           "application/octet-stream", "application/zip", "x", "font/woff2"}) {
    ToolOutcome outcome = read(http_answer("200", type, "<p>x</p>"));
    EXPECT_EQ(outcome.error_code, "tool.fetch_failed") << type;
    EXPECT_EQ(outcome.error_message, "The page is not text.");
  }
  using namespace std::string_view_literals;
  EXPECT_EQ(content_of(http_answer("200", "", "\x89PNG\r\n\x1a\n\0\0"sv)), "tool.fetch_failed");
}

TEST_F(BasicFetch, TellsEveryFailureOfAPage) {
  for (const char* status : {"304", "403", "404", "410", "500", "503"}) {
    ToolOutcome outcome = read(http_answer(status, "text/html", "<p>secret words</p>"));
    EXPECT_EQ(outcome.error_code, "tool.fetch_failed");
    EXPECT_EQ(outcome.error_message, "The page answered with status " + std::string(status) + ".");
  }
  EXPECT_EQ(content_of(""), "tool.fetch_failed") << "the connection is closed";
  EXPECT_EQ(content_of("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 50\r\n\r\nx"),
            "tool.fetch_failed")
      << "half a page";
  EXPECT_EQ(code_of("http://127.0.0.1:1/"), "tool.fetch_failed") << "nobody listens";
}

TEST_F(BasicFetch, CutsPagesOverFiveMebibytes) {
  std::string page = "<p>begin</p>";
  while (page.size() < size_t{6} << 20) page += "<!-- nothing to be seen here -->";
  ToolOutcome outcome = read(http_answer("200", "text/html", page + "<p>end</p>"));
  std::optional<Json> reported = parse_json_or_nothing(outcome.result);
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->text_or("content"), "begin");
  EXPECT_TRUE(*reported->find("truncated")->as_boolean());
  std::string text(size_t{6} << 20, 'x');
  EXPECT_EQ(content_of(http_answer("200", "text/plain", text), R"(,"max_chars":9999999)").size(),
            200'000u);
}

}  // namespace
}  // namespace hostler
