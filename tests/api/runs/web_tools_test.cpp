// The web tools of runs through the whole stack (POST /v1/threads/{thread_id}/runs): the four
// back ends in their wire forms, failures, limits, and addresses that stay untouched.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "lib/time_text.h"
#include "tests/support/eventually.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/tool_harness.h"

namespace hostler::testing_support {
namespace {

using Texts = std::vector<std::string>;

RunStory stated(const std::string& message) {
  return run_story(register_user(tool_stack()).client, message);
}

class WebTools : public ::testing::Test {
 protected:
  void SetUp() override { use_no_tool_provider(); }
};

TEST_F(WebTools, SearchThroughAlphaAndBeta) {
  for (const char* provider : {"web_search.alpha", "web_search.beta"}) {
    use_tool_provider(provider);
    RunStory story = stated(search_call("red pandas") + " [say found]");
    EXPECT_EQ(story.status, "completed") << provider;
    std::string result = story.result();
    EXPECT_NE(result.find("Result 3 for red pandas"), std::string::npos) << result.substr(0, 300);
    EXPECT_EQ(result.find("Result 4"), std::string::npos) << "as many as were asked for";
    EXPECT_NE(result.find("世界"), std::string::npos);
    EXPECT_EQ(story.only("tool.call").text_or("tool_name"), "web_search");
    for (const char* secret : {"alpha", "beta", "key-0123456789"}) {
      EXPECT_EQ(story.text().find(secret), std::string::npos) << "no provider is named: " << secret;
    }
  }
}

TEST_F(WebTools, FetchThroughGammaAndDelta) {
  for (const char* provider : {"web_fetch.gamma", "web_fetch.delta"}) {
    use_tool_provider(provider);
    RunStory story = stated(fetch_call("https://93.184.216.34/a/page?x=1") + " [say read]");
    EXPECT_EQ(story.status, "completed") << provider;
    std::string result = story.result();
    EXPECT_NE(result.find("https://93.184.216.34/a/page?x=1"), std::string::npos) << result;
    EXPECT_NE(result.find("What is known about"), std::string::npos) << result.substr(0, 300);
    EXPECT_EQ(story.text().find(provider), std::string::npos);
  }
}

TEST_F(WebTools, TellTheModelWhatFailed) {
  use_tool_provider("web_search.alpha");
  use_tool_provider("web_fetch.delta");
  EXPECT_EQ(stated(search_call("fail 503")).result(), "tool.search_failed");
  EXPECT_EQ(stated(search_call("bad json")).result(), "tool.search_failed");
  EXPECT_EQ(stated(fetch_call("https://93.184.216.34/fail-503")).result(), "tool.fetch_failed");
  EXPECT_EQ(stated(fetch_call("https://93.184.216.34/bad-json")).result(), "tool.fetch_failed");
  RunStory none = stated(search_call("no results"));
  EXPECT_EQ(none.outcomes(), Texts{"ok"});
  use_tool_provider("web_search.alpha", "bad-key-0123456789");
  EXPECT_EQ(stated(search_call("anything")).result(), "tool.search_failed");
}

TEST_F(WebTools, AreNotConfiguredUntilSomebodyDoes) {
  RunStory story = stated(search_call("x") + fetch_call("https://93.184.216.34/") + " [say done]");
  EXPECT_EQ(story.status, "completed") << "the model is told; the run goes on";
  EXPECT_EQ(story.outcomes(), (Texts{"tool.not_configured", "tool.not_configured"}));
  use_tool_provider("web_search.alpha");
  EXPECT_EQ(tool_admin().client.del(provider_path("web_search.alpha", "credential")).status, 204);
  EXPECT_EQ(stated(search_call("x")).result(), "tool.not_configured")
      << "active without a key: nothing else takes its place";
}

TEST_F(WebTools, AnOrganizationsOwnProviderStandsAboveThePlatforms) {
  use_tool_provider("web_search.alpha");
  TestUser user = register_user(tool_stack());
  EXPECT_EQ(run_story(user.client, search_call("x")).outcomes(), Texts{"ok"});
  EXPECT_EQ(user.client.put(provider_path("web_search.beta", "activate") + "?scope=org", "").status,
            204);
  EXPECT_EQ(run_story(user.client, search_call("x")).result(), "tool.not_configured");
  EXPECT_EQ(stated(search_call("x")).outcomes(), Texts{"ok"}) << "others have the platform's";
}

TEST_F(WebTools, RefuseArgumentsThatAreNone) {
  use_tool_provider("web_search.alpha");
  RunStory story = stated(R"([bad-tool-json web_search] [tool web_search {"max_results":3}] )"
                          R"([tool web_search {"query":7}])"
                          R"( [tool web_fetch {"url":""}] [tool no_such_tool {}] [say done])");
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(story.outcomes(), (Texts{"tool.args_invalid", "tool.args_invalid", "tool.args_invalid",
                                     "tool.args_invalid", "tool.unknown"}));
}

TEST_F(WebTools, OfATurnRunSideBySide) {
  use_tool_provider("web_search.alpha");
  std::string calls;
  for (const char* name : {"a", "b", "c"}) {
    calls +=
        fmt::format(R"({}web_search {{"query":"slow 1500 {}"}})", calls.empty() ? "" : " | ", name);
  }
  RunStory story = stated("[tools " + calls + "]");
  ASSERT_EQ(story.outcomes(), (Texts{"ok", "ok", "ok"}));
  int64_t first_ms = INT64_MAX;
  int64_t last_ms = 0;
  for (const Json& event : story.events) {
    if (event.text_or("type") != "tool.result") continue;
    std::optional<int64_t> at_ms = parse_rfc3339(event.text_or("created_at"));
    ASSERT_TRUE(at_ms);
    first_ms = std::min(first_ms, *at_ms);
    last_ms = std::max(last_ms, *at_ms);
    EXPECT_GE(event.find("data")->integer_or("duration_ms", 0), 1400);
  }
  EXPECT_LT(last_ms - first_ms, 1400) << "one after the other would be 1.5 s apart each";
}

TEST_F(WebTools, EndTheRunBeforeTheTurnThatWouldPassTheLimit) {
  use_tool_provider("web_search.alpha");
  std::string call = R"( | web_search {"query":"x"})";
  std::string thirty = R"(web_search {"query":"x"})";
  for (int i = 1; i < 30; ++i) thirty += call;
  std::string two = R"([tools web_search {"query":"x"} | web_search {"query":"y"}])";
  RunStory fits = stated("[tools " + thirty + "] " + two + " [say done]");
  EXPECT_EQ(fits.status, "completed");
  EXPECT_EQ(fits.all("tool.result").size(), 32u);
  RunStory passes = stated("[tools " + thirty + call + "] " + two + " [say done]");
  EXPECT_EQ(passes.status, "failed");
  EXPECT_EQ(passes.only("run.failed").text_or("code"), "run.turn_limit");
  EXPECT_EQ(passes.all("tool.result").size(), 31u) << "of the last turn none was made";
}

TEST_F(WebTools, LeaveAddressesOfTheInsideUntouched) {
  ScriptedServer canary([](Peer& peer) { peer.answer("alive"); });
  ScriptedServer on_all([](Peer& peer) { peer.answer("alive"); }, "0.0.0.0");
  Texts urls;
  for (int port : {canary.port(), on_all.port()}) {
    for (const char* host :
         {"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]",
          "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "0"}) {
      urls.push_back(fmt::format("http://{}:{}/", host, port));
    }
  }
  for (const char* url : {"http://169.254.169.254/latest", "http://10.0.0.1/", "http://[fe80::1]/",
                          "file:///etc/passwd", "gopher://127.0.0.1:1/", "http://192.168.0.1/"}) {
    urls.emplace_back(url);
  }
  auto refused = [&urls] {
    std::string calls;
    for (const std::string& url : urls) {
      calls += fmt::format(R"({}web_fetch {{"url":"{}"}})", calls.empty() ? "" : " | ", url);
    }
    RunStory story = stated("[tools " + calls + "]");
    Texts codes = story.outcomes();
    EXPECT_EQ(codes.size(), urls.size());
    for (const Json& reported : story.all("tool.result")) {
      EXPECT_EQ(reported.find("error")->text_or("code"), "tool.url_denied") << reported.dump();
    }
  };
  EXPECT_EQ(tool_admin()
                .client.put("/v1/admin/settings/web_fetch.provider", R"({"value":"basic"})")
                .status,
            200);
  // The daemon hears of a setting within a second: until then nothing is configured.
  EXPECT_TRUE(eventually(
      10'000, [&] { return stated(fetch_call(urls[0])).result() != "tool.not_configured"; }));
  refused();
  EXPECT_EQ(tool_admin().client.del("/v1/admin/settings/web_fetch.provider").status, 204);
  use_tool_provider("web_fetch.gamma");
  refused();
  // A text that is not a name here may be an address for the reader.
  urls = {fmt::format("http://127.0.0.1.:{}/", canary.port()), "http://0x7f.1.:8080/",
          "http://1.1./"};
  refused();
  EXPECT_EQ(canary.connections(), 0);
  EXPECT_EQ(on_all.connections(), 0);
}

}  // namespace
}  // namespace hostler::testing_support
