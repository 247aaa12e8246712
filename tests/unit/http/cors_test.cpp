// Cross-origin header fields: lib/http/cors.h.
#include "lib/http/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hostler {
namespace {

using http::CorsRequest;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

const std::vector<std::string> allowed{"https://app.example"};
constexpr const char* origin = "https://app.example";
constexpr const char* names_field = "Access-Control-Allow-Headers";
constexpr const char* exposed_field = "Access-Control-Expose-Headers";

http::HeaderList cors(const std::vector<std::string>& origins, const CorsRequest& request) {
  http::HeaderList headers;
  http::add_cors_headers(origins, request, headers);
  return headers;
}

http::HeaderList preflight(const CorsRequest& request) {
  http::HeaderList headers;
  http::add_preflight_headers(allowed, request, "GET, OPTIONS", headers);
  return headers;
}

// Returns what a preflight below a protocol's prefix adds to the names that are always there.
std::string repeated(std::string_view asked) {
  std::string native;
  std::string out;
  for (const auto& [name, value] : preflight({origin})) {
    if (name == names_field) native = value;
  }
  for (const auto& [name, value] : preflight({origin, true, asked})) {
    if (name == names_field) out = value;
  }
  EXPECT_TRUE(out.starts_with(native)) << out;
  return out.substr(native.size());
}

TEST(Cors, AllowsConfiguredOriginsAndNoOther) {
  EXPECT_THAT(cors(allowed, {origin}),
              Contains(Pair("Access-Control-Allow-Origin", "https://app.example")));
  for (const char* other : {"", "null", "https://app.example.evil", "http://app.example",
                            "https://app.example:444", "https://APP.example"}) {
    EXPECT_THAT(cors(allowed, {other, true}), ElementsAre(Pair("Vary", "Origin"))) << other;
  }
}

TEST(Cors, SaysNothingWhenNoOriginIsConfigured) { EXPECT_THAT(cors({}, {origin}), IsEmpty()); }

TEST(Cors, NeverTakesAStarOrTheOriginOfNobody) {
  EXPECT_THAT(cors({"*"}, {origin}), ElementsAre(Pair("Vary", "Origin")));
  EXPECT_THAT(cors({"null"}, {"null"}), ElementsAre(Pair("Vary", "Origin")));
}

TEST(Cors, ExposesRunAndThreadAndToOtherProtocolsTheirFieldsToo) {
  constexpr const char* run = "X-Hostler-Run, X-Hostler-Thread";
  constexpr const char* further = "X-Hostler-Thread, x-vercel-ai-ui-message-stream";
  EXPECT_THAT(cors(allowed, {origin, true}), Contains(Pair(exposed_field, HasSubstr(further))));
  EXPECT_THAT(cors(allowed, {origin, false}), Contains(Pair(exposed_field, HasSubstr(run))));
  EXPECT_THAT(cors(allowed, {origin, false}),
              Contains(Pair(exposed_field, Not(HasSubstr("x-vercel")))));
}

TEST(Cors, TellsAPreflightWhatMayBeSent) {
  EXPECT_THAT(preflight({origin}), Contains(Pair("Access-Control-Allow-Methods", "GET, OPTIONS")));
  EXPECT_THAT(preflight({"https://b.example", true, "x-one"}), IsEmpty());
}

TEST(Cors, RepeatsTheNamesAskedForToOtherProtocolsAlone) {
  EXPECT_EQ(repeated("x-stainless-os, x-stainless-lang"), ", x-stainless-os, x-stainless-lang");
  EXPECT_EQ(repeated("a,b ,\tc"), ", a, b, c");
  EXPECT_EQ(repeated(""), "");
  EXPECT_EQ(preflight({origin, false, "x-one"}), preflight({origin}));
}

TEST(Cors, RepeatsNothingButNames) {
  EXPECT_EQ(repeated("x-one\r\nSet-Cookie: a=b, x-two"), ", x-two");
  EXPECT_EQ(repeated("*, a b, c:d, \"e\", \x7f, \xc3\xa4, ,,x"), ", x");
  EXPECT_EQ(repeated(std::string_view("a\0b,c", 5)), ", c");
}

TEST(Cors, RepeatsTwoKibibytesOfNamesAtMost) {
  std::string asked;
  for (int i = 0; i < 4000; ++i) asked += "n" + std::to_string(i) + ",";
  std::string names = repeated(asked);
  EXPECT_LE(names.size(), 2048u);
  EXPECT_GT(names.size(), 2000u);
  // The last one is whole.
  std::string last = names.substr(names.rfind(' ') + 1);
  EXPECT_THAT(asked, HasSubstr("," + last + ","));
  EXPECT_EQ(repeated(std::string(5000, 'a')), "");
}

TEST(Cors, KnowsThePathsOfOtherProtocols) {
  for (const char* uri : {"/v1/openai", "/v1/openai/v1/models", "/v1/openai?a=b", "/v1/ui/chat",
                          "/v1/agui", "/v1/agui?x", "/v1/agui/"}) {
    EXPECT_TRUE(http::is_protocol_path(uri)) << uri;
  }
  for (const char* uri :
       {"", "/", "/v1", "/v1/openais", "/v1/uix/chat", "/v1/aguix", "/v1/me", "/x/v1/agui"}) {
    EXPECT_FALSE(http::is_protocol_path(uri)) << uri;
  }
}

}  // namespace
}  // namespace hostler
