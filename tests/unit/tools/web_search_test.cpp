// The tool web_search: arguments, which provider serves, both wire forms, every failure.
#include <gtest/gtest.h>

#include "tests/support/rigs/tool_fixture.h"

namespace hostler {
namespace {

using runner::ToolOutcome;
using testing_support::http_answer;
using testing_support::json_answer;
using testing_support::KeepingPeer;
using testing_support::Peer;
using testing_support::ProviderRow;
using testing_support::run_task;
using testing_support::ScriptedServer;
using testing_support::ToolFixture;

constexpr const char* two_results =
    R"({"query":"q","results":[{"title":"A","url":"https://a.example/","content":"Größe","score":1},
    {"title":"B","url":"https://b.example/"}]})";
constexpr const char* two_results_reported =
    R"({"results":[{"title":"A","url":"https://a.example/","content":"Größe"},)"
    R"({"title":"B","url":"https://b.example/","content":""}]})";

class WebSearch : public testing::Test {
 protected:
  // A platform provider at this peer.
  void serve(const KeepingPeer& peer, const std::string& name = "web_search.alpha") {
    fixture_.add_provider({name, peer.url("/x"), name == "web_search.alpha" ? "tvly-key" : ""});
  }
  std::string code_of(const std::string& arguments = R"({"query":"boats"})") {
    return fixture_.code_of("web_search", arguments);
  }
  ToolOutcome search(const std::string& arguments = R"({"query":"boats"})") {
    return fixture_.call("web_search", arguments);
  }
  static std::string reported_url(const std::string& result) {
    std::optional<Json> reported = parse_json_or_nothing(result);
    return std::string((*reported->find("results")->as_array()).at(0).text_or("url"));
  }
  // The outcome of a search whose back end answers so.
  ToolOutcome search_at(const std::string& answer) {
    KeepingPeer peer(answer);
    fixture_.run_sql("DELETE FROM tool_providers");
    serve(peer);
    return search();
  }
  ToolFixture fixture_;
};

TEST_F(WebSearch, SpeaksTheFormOfAlpha) {
  KeepingPeer peer(json_answer(two_results));
  serve(peer);
  EXPECT_EQ(search(R"({"query":" boats & \"lanterns\" ","max_results":2})").result,
            two_results_reported);
  EXPECT_TRUE(peer.request().starts_with("POST /x/search HTTP/1.1\r\n")) << peer.request();
  EXPECT_TRUE(peer.was_sent("\r\nAuthorization: Bearer tvly-key\r\n"));
  EXPECT_TRUE(peer.was_sent("\r\nContent-Type: application/json\r\n"));
  EXPECT_EQ(peer.body(), R"({"query":"boats & \"lanterns\"","max_results":2})");
}

TEST_F(WebSearch, SpeaksTheFormOfBeta) {
  KeepingPeer peer(json_answer(two_results));
  serve(peer, "web_search.beta");
  EXPECT_EQ(search(R"({"query":"a&b=c 世#?"})").result, two_results_reported);
  EXPECT_TRUE(peer.request().starts_with(
      "GET /x/search?q=a%26b%3Dc%20%E4%B8%96%23%3F&format=json HTTP/1.1\r\n"))
      << peer.request();
  EXPECT_FALSE(peer.was_sent("Authorization"));
}

TEST_F(WebSearch, ChecksItsArguments) {
  for (const char* bad :
       {"{}", R"({"query":""})", R"({"query":" \n"})", R"({"query":5})", R"({"query":null})",
        R"({"query":["a"]})", R"({"query":"a","max_results":"5"})",
        R"({"query":"a","max_results":2.5})", R"({"query":"a","max_results":true})", "[]", "null",
        "\"a\"", "", "{", R"({"query":"a"} x)", R"({"query":"a","query":"b"})"}) {
    EXPECT_EQ(code_of(bad), "tool.args_invalid") << bad;
  }
  EXPECT_EQ(code_of(R"({"query":")" + std::string(1001, 'a') + "\"}"), "tool.args_invalid");
  EXPECT_EQ(search("{}").error_message, "query: a text is required.");
}

TEST_F(WebSearch, MovesMaxResultsIntoItsBounds) {
  KeepingPeer peer(json_answer(two_results));
  serve(peer);
  auto asked_for = [&](const std::string& number) {
    search(R"({"query":"a","max_results":)" + number + "}");
    return parse_json_or_nothing(peer.body())->integer_or("max_results", -1);
  };
  EXPECT_EQ(asked_for("0"), 1);
  EXPECT_EQ(asked_for("-7"), 1);
  EXPECT_EQ(asked_for("1"), 1);
  EXPECT_EQ(asked_for("20"), 20);
  EXPECT_EQ(asked_for("21"), 20);
  EXPECT_EQ(asked_for("9223372036854775807"), 20);
  EXPECT_EQ(asked_for("1e300"), 20);
  EXPECT_EQ(asked_for("3.0"), 3);
  EXPECT_EQ(asked_for("null"), 5);
}

TEST_F(WebSearch, GivesNoMoreResultsThanWereAskedFor) {
  std::string many = R"({"results":[)";
  for (int i = 0; i < 30; ++i) many += R"({"title":"t","url":"https://x/","content":"c"},)";
  many.back() = ']';
  KeepingPeer peer(json_answer(many + "}"));
  serve(peer, "web_search.beta");
  auto count = [&](const char* arguments) {
    return parse_json_or_nothing(search(arguments).result)->find("results")->as_array()->size();
  };
  EXPECT_EQ(count(R"({"query":"a"})"), 5u);
  EXPECT_EQ(count(R"({"query":"a","max_results":20})"), 20u);
}

TEST_F(WebSearch, LeavesOutAddressesThatAreLongerThanAny) {
  std::string longest = "https://x/" + std::string(8192 - 10, 'u');
  KeepingPeer peer(
      json_answer(R"({"results":[{"url":")" + longest + R"(u"},{"url":")" + longest + R"("}]})"));
  serve(peer, "web_search.beta");
  EXPECT_EQ(search().result,
            R"({"results":[{"title":"","url":")" + longest + R"(","content":""}]})");
}

TEST_F(WebSearch, IsNotConfiguredWithoutAProvider) {
  ToolOutcome outcome = search();
  EXPECT_EQ(outcome.error_code, "tool.not_configured");
  EXPECT_EQ(outcome.error_message, "web_search is not configured.");
}

TEST_F(WebSearch, AsksTheOrganizationsProviderBeforeThePlatformsAndTheSettings) {
  KeepingPeer org_peer(json_answer(R"({"results":[{"url":"org"}]})"));
  KeepingPeer platform_peer(json_answer(R"({"results":[{"url":"platform"}]})"));
  KeepingPeer legacy_peer(json_answer(R"({"results":[{"url":"legacy"}]})"));
  fixture_.set("outbound.allow_cidrs", std::vector<std::string>{"127.0.0.0/8"});
  auto asked = [&] {
    ToolOutcome outcome = search();
    return outcome.result.empty() ? outcome.error_code : reported_url(outcome.result);
  };
  fixture_.set("web_search.provider", std::string("beta"));
  fixture_.set("web_search.beta_base_url", legacy_peer.url("/"));
  EXPECT_EQ(asked(), "legacy");
  fixture_.add_provider({"web_search.beta", platform_peer.url("/"), ""});
  EXPECT_EQ(asked(), "platform");
  fixture_.add_provider({"web_search.alpha", org_peer.url("/"), "key", false, fixture_.org_id});
  EXPECT_EQ(asked(), "platform") << "an inactive one serves nobody";
  fixture_.run_sql("UPDATE tool_providers SET is_active = true");
  EXPECT_EQ(asked(), "org");
  std::string other = fixture_.new_org();
  std::swap(fixture_.org_id, other);
  EXPECT_EQ(asked(), "platform") << "another organization's is nobody else's";
}

TEST_F(WebSearch, DoesNotPassOverAnActiveProviderThatIsNotConfigured) {
  KeepingPeer peer(json_answer(two_results));
  serve(peer);
  EXPECT_EQ(code_of(), "ok");
  fixture_.add_provider({"web_search.beta", "", "", true, fixture_.org_id});
  EXPECT_EQ(code_of(), "tool.not_configured");
  fixture_.run_sql("DELETE FROM tool_providers WHERE org_id IS NOT NULL");
  fixture_.add_provider({"web_search.alpha", peer.url("/"), "", true, fixture_.org_id});
  EXPECT_EQ(code_of(), "tool.not_configured");
}

TEST_F(WebSearch, TakesTheLegacySettingsOnlyWhenTheyAreComplete) {
  KeepingPeer peer(json_answer(two_results));
  fixture_.set("web_search.beta_base_url", peer.url("/"));
  EXPECT_EQ(code_of(), "tool.not_configured") << "none is chosen";
  fixture_.set("web_search.provider", std::string("alpha"));
  EXPECT_EQ(code_of(), "tool.not_configured") << "alpha has no key";
  fixture_.set("web_search.provider", std::string("beta"));
  EXPECT_EQ(code_of(), "ok");
}

TEST_F(WebSearch, IsNotConfiguredWhenTheKeyDoesNotOpen) {
  KeepingPeer peer(json_answer(two_results));
  serve(peer);
  fixture_.run_sql("UPDATE secrets SET sealed = sealed || '\\x00'");
  EXPECT_EQ(code_of(), "tool.not_configured");
  EXPECT_EQ(peer.connections(), 0);
}

TEST_F(WebSearch, DialsAnOrganizationsAddressOnlyWhenItIsPublicOrAllowed) {
  KeepingPeer peer(json_answer(two_results));
  fixture_.add_provider({"web_search.beta", peer.url("/"), "", true, fixture_.org_id});
  EXPECT_EQ(code_of(), "tool.url_denied");
  EXPECT_EQ(peer.connections(), 0);
  fixture_.set("outbound.allow_cidrs", std::vector<std::string>{"127.0.0.1/32"});
  EXPECT_EQ(code_of(), "ok");
}

TEST_F(WebSearch, TellsEveryFailureOfTheBackEnd) {
  for (const char* status : {"301", "400", "401", "403", "404", "429", "500", "503"}) {
    ToolOutcome outcome =
        search_at(http_answer(status, "application/json", R"({"error":"secret words"})"));
    EXPECT_EQ(outcome.error_code, "tool.search_failed");
    EXPECT_EQ(outcome.error_message,
              "The search service answered with status " + std::string(status) + ".");
  }
  for (const char* body : {"", "{", "[]", "<html>", "null", "{}", R"({"results":5})",
                           R"({"results":null})", R"({"results":[)"}) {
    EXPECT_EQ(search_at(json_answer(body)).error_code, "tool.search_failed") << body;
  }
  EXPECT_EQ(search_at("").error_code, "tool.search_failed") << "the connection is closed";
  EXPECT_EQ(search_at("no http\r\n\r\n").error_code, "tool.search_failed");
  EXPECT_EQ(search_at("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{").error_code,
            "tool.search_failed");
  fixture_.run_sql("UPDATE tool_providers SET base_url = 'http://127.0.0.1:1'");
  EXPECT_EQ(code_of(), "tool.search_failed") << "nobody listens";
}

TEST_F(WebSearch, ReadsOddResults) {
  EXPECT_EQ(search_at(json_answer(R"({"results":[]})")).result, R"({"results":[]})");
  EXPECT_EQ(search_at(json_answer(R"({"results":[5,null,{},{"title":"no address"},
            {"url":"u","title":null,"content":7}]})"))
                .result,
            R"({"results":[{"title":"","url":"u","content":""}]})");
  // Addresses that our own reader refuses are mended.
  EXPECT_EQ(
      search_at(json_answer("{\"results\":[{\"url\":\"u\",\"content\":\"\\u0000 \\ud800 \xff\"}]}"))
          .result,
      "{\"results\":[{\"title\":\"\",\"url\":\"u\",\"content\":\"\uFFFD \uFFFD \uFFFD\"}]}");
}

TEST_F(WebSearch, FailsWhenNoEngineBehindBetaAnswers) {
  EXPECT_EQ(search_at(json_answer(R"({"results":[],"unresponsive_engines":[["x","timeout"]]})"))
                .error_code,
            "tool.search_failed");
  EXPECT_EQ(search_at(json_answer(
                          R"({"results":[{"url":"u"}],"unresponsive_engines":[["x","timeout"]]})"))
                .error_code,
            "");
}

TEST_F(WebSearch, CutsLongTextsAtACharacter) {
  std::string content;
  for (int i = 0; i < 5000; ++i) content += "世";
  std::string result =
      search_at(json_answer(R"({"results":[{"url":"u","content":")" + content + "\"}]}")).result;
  std::optional<Json> reported = parse_json_or_nothing(result);
  ASSERT_TRUE(reported);
  EXPECT_EQ((*reported->find("results")->as_array())[0].text_or("content"),
            content.substr(0, 4000 * 3));
}

TEST_F(WebSearch, ReadsWhatCameOfAnAnswerOverFiveMebibytes) {
  std::string content(6 << 20, 'x');
  ToolOutcome outcome = search_at(json_answer(
      R"({"results":[{"url":"a","content":"b"},{"url":"c","content":")" + content + "\"}]}"));
  EXPECT_EQ(outcome.result, R"({"results":[{"title":"","url":"a","content":"b"},)"
                            R"({"title":"","url":"c","content":")" +
                                content.substr(0, 4000) + "\"}],\"truncated\":true}");
}

TEST_F(WebSearch, CallsACutAnswerWithoutAResultNoAnswer) {
  ToolOutcome outcome =
      search_at(json_answer(R"({"results":[{"content":")" + std::string(6 << 20, 'x') + "\"}]}"));
  EXPECT_EQ(outcome.error_code, "tool.search_failed");
}

TEST_F(WebSearch, GivesUpAfterItsTime) {
  ScriptedServer silent([](Peer& peer) {
    peer.read_request();
    peer.wait_for_close();
  });
  fixture_.add_provider({"web_search.beta", silent.url("/"), ""});
  fixture_.set("tool.search_timeout_ms", int64_t{60});
  ToolOutcome outcome = search();
  EXPECT_EQ(outcome.error_code, "tool.timeout");
  EXPECT_EQ(outcome.error_message, "The search service did not answer in time.");
  EXPECT_TRUE(silent.wait_for_ended(1)) << "the connection is given up";
}

TEST_F(WebSearch, GivesUpAfterItsTimeAlsoWithinAnAnswer) {
  ScriptedServer half([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{");
    peer.wait_for_close();
  });
  fixture_.set("tool.search_timeout_ms", int64_t{60});
  fixture_.add_provider({"web_search.beta", half.url("/"), ""});
  EXPECT_EQ(code_of(), "tool.timeout");
}

TEST_F(WebSearch, ClosesTheConnectionWhenTheRunIsCancelled) {
  ScriptedServer silent([](Peer& peer) {
    peer.read_request();
    peer.wait_for_close();
  });
  fixture_.add_provider({"web_search.beta", silent.url("/"), ""});
  config::LiveSettings settings(fixture_.settings());
  runner::ToolBox box(fixture_.loop(), fixture_.db(), fixture_.http(), fixture_.secrets(),
                      settings);
  Task<ToolOutcome> task = box.call({fixture_.run_id, fixture_.org_id, "trace"},
                                    {"call-1", "web_search", R"({"query":"a"})"});
  EXPECT_FALSE(task.start(nullptr));
  run_task(fixture_.loop(), loop::sleep_ms(fixture_.loop(), 1));
  loop::Timer waits(fixture_.loop(), [&] {
    if (silent.connections() > 0) task.cancel();
    fixture_.loop().stop();
  });
  while (task) {
    waits.restart(5);
    fixture_.loop().run();
  }
  EXPECT_TRUE(silent.wait_for_ended(1));
}

TEST_F(WebSearch, NeverNamesItsProvider) {
  KeepingPeer peer(json_answer(two_results));
  for (const char* name : {"web_search.alpha", "web_search.beta"}) {
    fixture_.run_sql("DELETE FROM tool_providers");
    serve(peer, name);
    for (const char* url : {"http://127.0.0.1:1", "http://127.0.0.1:0", ""}) {
      if (*url != '\0')
        fixture_.run_sql(fmt::format("UPDATE tool_providers SET base_url = '{}'", url));
      ToolOutcome outcome = search();
      std::string reported = outcome.result + outcome.error_code + outcome.error_message;
      for (const char* word : {"alpha", "beta", "Tavily", "SearX", "127.0.0.1", "tvly"}) {
        EXPECT_EQ(reported.find(word), std::string::npos) << reported;
      }
    }
  }
}

}  // namespace
}  // namespace hostler
