// The tool web_fetch: arguments, the two page readers' wire forms, our own reader, and addresses
// that nobody may be sent to.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>

#include "tests/support/peers/fake_names.h"
#include "tests/support/rigs/tool_fixture.h"

namespace hostler {
namespace {

using runner::ToolOutcome;
using testing_support::Canary;
using testing_support::FakeNames;
using testing_support::http_answer;
using testing_support::json_answer;
using testing_support::KeepingPeer;
using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;
using testing_support::ToolFixture;

// Threads like the daemon's: libuv makes its threads when the first work comes.
const int pool_is_set = setenv("UV_THREADPOOL_SIZE", "64", 1);

const std::string gamma_page =
    R"({"code":200,"data":{"title":"T","url":"https://e.example/end","content":"# Größe"}})";
const std::string delta_page =
    R"({"success":true,"data":{"markdown":"# Größe","metadata":{"title":"T",)"
    R"("sourceURL":"https://e.example/end"}}})";
const std::string page_told =
    R"({"url":"https://e.example/end","title":"T","content":"# Größe","truncated":false})";

std::string arguments_of(std::string_view url, std::string_view more = "") {
  return R"({"url":)" + json_quote(url) + std::string(more) + "}";
}

class WebFetch : public testing::Test {
 protected:
  void serve(const KeepingPeer& peer, const std::string& name) {
    fixture_.run_sql("DELETE FROM tool_providers");
    fixture_.add_provider({name, peer.url("/x"), "the-key"});
  }
  ToolOutcome fetch(std::string_view url, std::string_view more = "") {
    return fixture_.call("web_fetch", arguments_of(url, more));
  }
  std::string code_of(std::string_view url) {
    ToolOutcome outcome = fetch(url);
    return outcome.error_code.empty() ? "ok" : outcome.error_code;
  }
  // Our own reader, which may dial this machine.
  void read_ourselves() {
    fixture_.set("web_fetch.provider", std::string("basic"));
    fixture_.set("outbound.allow_cidrs", std::vector<std::string>{"127.0.0.1/32"});
  }
  ToolFixture fixture_;
};

TEST_F(WebFetch, SpeaksTheFormOfGamma) {
  KeepingPeer peer(json_answer(gamma_page));
  serve(peer, "web_fetch.gamma");
  EXPECT_EQ(fetch("https://93.184.215.14/a/b?c=d&e=%20#part").result, page_told);
  EXPECT_TRUE(peer.request().starts_with("GET /x/https://93.184.215.14/a/b?c=d&e=%20 HTTP/1.1\r\n"))
      << peer.request();
  EXPECT_TRUE(peer.was_sent("\r\nAuthorization: Bearer the-key\r\n"));
  EXPECT_TRUE(peer.was_sent("\r\nAccept: application/json\r\n"));
}

TEST_F(WebFetch, SpeaksTheFormOfDelta) {
  KeepingPeer peer(json_answer(delta_page));
  serve(peer, "web_fetch.delta");
  EXPECT_EQ(fetch("https://93.184.215.14/a\"b").result, page_told);
  EXPECT_TRUE(peer.request().starts_with("POST /x/v1/scrape HTTP/1.1\r\n")) << peer.request();
  EXPECT_TRUE(peer.was_sent("\r\nAuthorization: Bearer the-key\r\n"));
  EXPECT_EQ(peer.body(), R"({"url":"https://93.184.215.14/a\"b","formats":["markdown"],)"
                         R"("onlyMainContent":true})");
}

TEST_F(WebFetch, EncodesForGammaWhatARequestLineCannotHold) {
  KeepingPeer peer(json_answer(gamma_page));
  serve(peer, "web_fetch.gamma");
  EXPECT_EQ(code_of("https://93.184.215.14/世"), "ok");
  EXPECT_TRUE(peer.was_sent("GET /x/https://93.184.215.14/%E4%B8%96 HTTP/1.1\r\n"))
      << peer.request();
}

TEST_F(WebFetch, ChecksItsArguments) {
  for (const char* bad : {"{}", R"({"url":""})", R"({"url":" "})", R"({"url":7})", R"({"url":[]})",
                          R"({"url":"http://x/","max_chars":"9"})",
                          R"({"url":"http://x/","max_chars":0.5})", "[]", "", "x"}) {
    EXPECT_EQ(fixture_.code_of("web_fetch", bad), "tool.args_invalid") << bad;
  }
  EXPECT_EQ(code_of("http://x/" + std::string(9000, 'a')), "tool.args_invalid");
}

TEST_F(WebFetch, IsNotConfiguredUnlessSomethingIs) {
  EXPECT_EQ(code_of("https://93.184.215.14/"), "tool.not_configured");
  fixture_.set("web_fetch.provider", std::string("gamma"));
  EXPECT_EQ(code_of("https://93.184.215.14/"), "tool.not_configured") << "gamma has no key";
  fixture_.set("web_fetch.provider", std::string("delta"));
  EXPECT_EQ(code_of("https://93.184.215.14/"), "tool.not_configured") << "delta has no key";
  KeepingPeer peer(json_answer(delta_page));
  fixture_.set("web_fetch.delta_api_key", std::string("legacy-key"));
  fixture_.set("web_fetch.delta_base_url", peer.url("/y/"));
  EXPECT_EQ(code_of("https://93.184.215.14/"), "ok");
  EXPECT_TRUE(peer.was_sent("POST /y/v1/scrape "));
  EXPECT_TRUE(peer.was_sent("Bearer legacy-key"));
}

TEST_F(WebFetch, TellsEveryFailureOfAReader) {
  for (const char* name : {"web_fetch.gamma", "web_fetch.delta"}) {
    for (const char* status : {"302", "401", "404", "429", "500"}) {
      KeepingPeer peer(http_answer(status, "application/json", "{\"error\":\"secret words\"}"));
      serve(peer, name);
      ToolOutcome outcome = fetch("https://93.184.215.14/");
      EXPECT_EQ(outcome.error_code, "tool.fetch_failed");
      EXPECT_EQ(outcome.error_message,
                "The page reader answered with status " + std::string(status) + ".");
    }
    for (const char* body : {"", "{", "null", "[]", "{}", R"({"data":null})", R"({"data":"x"})",
                             R"({"data":{"title":"T"}})", R"({"data":{"content":5,"markdown":5}})",
                             R"({"success":false,"error":"x"})"}) {
      KeepingPeer peer(json_answer(body));
      serve(peer, name);
      EXPECT_EQ(code_of("https://93.184.215.14/"), "tool.fetch_failed") << name << " " << body;
    }
    KeepingPeer gone("");
    serve(gone, name);
    EXPECT_EQ(code_of("https://93.184.215.14/"), "tool.fetch_failed");
  }
}

TEST_F(WebFetch, TellsWhereThePageWasAskedForWhenTheReaderDoesNot) {
  const std::string too_long =
      R"({"data":{"markdown":"x","metadata":{"sourceURL":")" + std::string(8193, 'u') + R"("}}})";
  for (const std::string& body : {std::string(R"({"data":{"markdown":"x"}})"), too_long}) {
    KeepingPeer peer(json_answer(body));
    serve(peer, "web_fetch.delta");
    EXPECT_EQ(fetch("https://93.184.215.14").result,
              R"({"url":"https://93.184.215.14/","title":"","content":"x","truncated":false})");
  }
}

TEST_F(WebFetch, CutsAtACharacterToMaxChars) {
  KeepingPeer peer(json_answer(gamma_page));
  serve(peer, "web_fetch.gamma");
  auto reported = [&](const char* more) {
    std::optional<Json> page = parse_json_or_nothing(fetch("https://93.184.215.14/", more).result);
    return std::string(page->text_or("content")) +
           (*page->find("truncated")->as_boolean() ? " cut" : "");
  };
  EXPECT_EQ(reported(R"(,"max_chars":7)"), "# Größe");
  EXPECT_EQ(reported(R"(,"max_chars":5)"), "# Grö cut");
  EXPECT_EQ(reported(R"(,"max_chars":1)"), "# cut");
  EXPECT_EQ(reported(R"(,"max_chars":0)"), "# cut");
  EXPECT_EQ(reported(R"(,"max_chars":-5)"), "# cut");
  EXPECT_EQ(reported(R"(,"max_chars":1000000000000)"), "# Größe");
}

TEST_F(WebFetch, ReadsWhatCameOfAPageOverFiveMebibytes) {
  std::string content;
  while (content.size() < size_t{6} << 20) content += "\\n\\u00e9 \\\"世\\\"";
  for (const char* name : {"web_fetch.gamma", "web_fetch.delta"}) {
    KeepingPeer peer(json_answer(R"({"data":{"title":"T","content":")" + content +
                                 R"(","url":"u"},"markdown":"never seen"})"));
    KeepingPeer other(json_answer(R"({"success":true,"data":{"markdown":")" + content +
                                  R"(","metadata":{"title":"T"}}})"));
    serve(name == std::string("web_fetch.gamma") ? peer : other, name);
    std::optional<Json> page =
        parse_json_or_nothing(fetch("https://93.184.215.14/", R"(,"max_chars":150000)").result);
    ASSERT_TRUE(page) << name;
    EXPECT_TRUE(*page->find("truncated")->as_boolean());
    EXPECT_TRUE(page->text_or("content").starts_with("\né \"世\"\né \"世\""));
    EXPECT_EQ(page->text_or("content").size(), 150'000u / 6 * 9);
  }
}

TEST_F(WebFetch, GivesUpAfterItsTime) {
  ScriptedServer silent([](Peer& peer) {
    peer.read_request();
    peer.wait_for_close();
  });
  fixture_.set("tool.fetch_timeout_ms", int64_t{60});
  fixture_.add_provider({"web_fetch.gamma", silent.url("/"), "key"});
  EXPECT_EQ(code_of("https://93.184.215.14/"), "tool.timeout");
  fixture_.run_sql("DELETE FROM tool_providers");
  read_ourselves();
  EXPECT_EQ(code_of(silent.url("/")), "tool.timeout");
  EXPECT_TRUE(silent.wait_for_ended(2));
}

constexpr const char* hostile_urls[] = {"http://127.0.0.1:#/",
                                        "http://127.1:#/",
                                        "http://2130706433:#/",
                                        "http://0x7f000001:#/",
                                        "http://0:#/",
                                        "http://[::1]:#/",
                                        "http://[::ffff:127.0.0.1]:#/",
                                        "http://localhost:#/",
                                        "http://localhost.:#/",
                                        "http://127.0.0.1.:#/",
                                        "http://127.0x1.:#/",
                                        "http://10.0.0.1:#/",
                                        "http://192.168.1.1:#/",
                                        "http://172.16.0.1:#/",
                                        "http://100.64.0.1:#/",
                                        "http://169.254.169.254/latest/meta-data/",
                                        "http://[fd00::1]:#/",
                                        "http://[fe80::1]:#/",
                                        "http://[64:ff9b::7f00:1]:#/",
                                        "http://192.0.2.1:#/",
                                        "http://198.18.0.1:#/",
                                        "http://224.0.0.1:#/",
                                        "http://240.0.0.1:#/",
                                        "http://user@93.184.215.14/",
                                        "http://u:p@93.184.215.14/",
                                        "http://93.184.215.14:22/",
                                        "http://93.184.215.14:25/",
                                        "http://93.184.215.14:5432/",
                                        "ftp://93.184.215.14/",
                                        "file:///etc/passwd",
                                        "gopher://127.0.0.1:#/_x",
                                        "javascript:alert(1)",
                                        "data:text/plain,x",
                                        "93.184.215.14/",
                                        "http:/127.0.0.1:#/",
                                        "http://127.0.0.1:#\\@93.184.215.14/",
                                        "http:// 127.0.0.1:#/",
                                        "http://",
                                        "https://[::1%25lo]:#/",
                                        "http://one-private.fake-names.test:#/",
                                        "http://all-private.fake-names.test:#/",
                                        "http://127.0.0.1:0/",
                                        "//127.0.0.1:#/"};

std::string with_port(std::string url, int port) {
  size_t mark = url.find('#');
  return mark == std::string::npos ? url : url.replace(mark, 1, std::to_string(port));
}

std::vector<std::string> fake_addresses(const std::string& name) {
  if (name.starts_with("one-private")) return {"127.0.0.1"};
  if (name.starts_with("all-private")) return {"10.0.0.1", "::1"};
  if (name.starts_with("mixed")) return {"10.0.0.1", "93.184.215.14"};
  if (name.starts_with("public")) return {"93.184.215.14"};
  return {};
}

TEST_F(WebFetch, SendsNoReaderToAnAddressThatWeWouldNotDial) {
  FakeNames names(fake_addresses);
  KeepingPeer peer(json_answer(gamma_page));
  Canary canary;
  for (const char* name : {"web_fetch.gamma", "web_fetch.delta"}) {
    serve(peer, name);
    for (const char* url : hostile_urls) {
      EXPECT_EQ(code_of(with_port(url, canary.port())), "tool.url_denied") << name << " " << url;
    }
  }
  EXPECT_EQ(peer.connections(), 0) << "the reader was asked";
  EXPECT_FALSE(canary.was_touched());
}

TEST_F(WebFetch, SendsReadersToNamesThatMayBePublic) {
  FakeNames names(fake_addresses);
  KeepingPeer peer(json_answer(gamma_page));
  serve(peer, "web_fetch.gamma");
  EXPECT_EQ(code_of("https://public.fake-names.test/"), "ok");
  EXPECT_EQ(code_of("https://mixed.fake-names.test/"), "tool.url_denied")
      << "the reader chooses which of the addresses it dials";
  EXPECT_EQ(code_of("https://unknown-here.fake-names.test/"), "ok");
  EXPECT_EQ(code_of("https://unknown-here.fake-names.test:25/"), "tool.url_denied");
  for (const char* local : {"redis", "redis.", "x.localhost", "x.local", "x.internal.",
                            "x.home.arpa", "metadata.google.internal"}) {
    EXPECT_EQ(code_of(std::string("http://") + local + "/"), "tool.url_denied") << local;
  }
  EXPECT_EQ(code_of("HTTPS://93.184.215.14:8443/"), "ok");
}

// A hanging look-up keeps its thread, also when nobody waits for it any more.
TEST_F(WebFetch, LooksUpFewNamesOfOneOrganizationAtOnce) {
  std::atomic<int> hanging = 0;
  std::promise<void> end;
  std::shared_future<void> is_over(end.get_future());
  FakeNames names([&](const std::string& name) {
    if (!name.starts_with("hang")) return std::vector<std::string>{"93.184.215.14"};
    ++hanging;
    is_over.wait();
    return std::vector<std::string>{};
  });
  KeepingPeer peer(json_answer(gamma_page));
  serve(peer, "web_fetch.gamma");
  fixture_.set("tool.fetch_timeout_ms", int64_t{300});
  config::LiveSettings settings(fixture_.settings());
  runner::ToolBox box(fixture_.loop(), fixture_.db(), fixture_.http(), fixture_.secrets(),
                      settings);
  auto call = [&](const std::string& org_id, const std::string& url) {
    return box.call({fixture_.run_id, org_id, "trace", 0, "creator of " + org_id},
                    {"call", "web_fetch", arguments_of(url)});
  };
  std::vector<Task<ToolOutcome>> calls;
  for (int i = 0; i < 12; ++i) {
    calls.push_back(call(fixture_.org_id, fmt::format("https://hang{}.fake-names.test/", i)));
    calls.back().start(nullptr);
  }
  run_task(fixture_.loop(), loop::sleep_ms(fixture_.loop(), 400));
  EXPECT_LE(hanging, 4);
  ToolOutcome other =
      run_task(fixture_.loop(), call(fixture_.new_org(), "https://public.fake-names.test/"));
  EXPECT_EQ(other.error_code, "") << other.error_message;
  end.set_value();
  calls.clear();
  run_task(fixture_.loop(), loop::sleep_ms(fixture_.loop(), 50));
}

TEST_F(WebFetch, SendsReadersToNetworksThatTheOperatorAllows) {
  KeepingPeer peer(json_answer(gamma_page));
  serve(peer, "web_fetch.gamma");
  EXPECT_EQ(code_of("http://10.1.2.3/"), "tool.url_denied");
  fixture_.set("outbound.allow_cidrs", std::vector<std::string>{"10.0.0.0/8"});
  EXPECT_EQ(code_of("http://10.1.2.3/"), "ok");
  EXPECT_EQ(code_of("http://192.168.2.3/"), "tool.url_denied");
}

TEST_F(WebFetch, OpensNoHostileAddressItself) {
  FakeNames names(fake_addresses);
  Canary canary;
  fixture_.set("web_fetch.provider", std::string("basic"));
  for (const char* url : hostile_urls) {
    // A name with a dot after it resolves on some machines only.
    std::string code = code_of(with_port(url, canary.port()));
    EXPECT_TRUE(code == "tool.url_denied" || code == "tool.fetch_failed") << url << " " << code;
    EXPECT_EQ(code == "tool.fetch_failed",
              std::string_view(url).starts_with("http://localhost.:") && code != "tool.url_denied")
        << url;
  }
  EXPECT_FALSE(canary.was_touched());
}

}  // namespace
}  // namespace hostler
