// Tests what is said to authorization servers, and what their answers mean.
#include "runner/oauth/token_request.h"

#include <gtest/gtest.h>

#include "lib/crypto.h"
#include "lib/json.h"

namespace hostler::runner {
namespace {

http::HttpAnswer answered(int status, const std::string& body) {
  http::HttpAnswer answer;
  answer.head.status = status;
  answer.body = body;
  return answer;
}

std::string header_of(const http::HttpRequest& request, std::string_view name) {
  for (const auto& [found, value] : request.headers) {
    if (found == name) return value;
  }
  return {};
}

http::HttpRequest asked_as(const std::string& method) {
  return client_request("https://as.example/t", {"i d", "s:1+/", method},
                        {{"grant_type", "authorization_code"}, {"code", "a b&c"}}, {true, ""});
}

TEST(ClientRequest, ShowsTheSecretAsTheMethodHasIt) {
  http::HttpRequest basic = asked_as("client_secret_basic");
  EXPECT_EQ(header_of(basic, "Authorization"), "Basic " + to_base64("i%20d:s%3A1%2B%2F"));
  EXPECT_EQ(basic.body, "grant_type=authorization_code&code=a%20b%26c");
  http::HttpRequest post = asked_as("client_secret_post");
  EXPECT_EQ(header_of(post, "Authorization"), "");
  EXPECT_EQ(post.body,
            "grant_type=authorization_code&code=a%20b%26c&client_id=i%20d&"
            "client_secret=s%3A1%2B%2F");
  http::HttpRequest none = asked_as("none");
  EXPECT_EQ(header_of(none, "Authorization"), "");
  EXPECT_EQ(none.body, "grant_type=authorization_code&code=a%20b%26c&client_id=i%20d");
}

TEST(ClientRequest, IsGuardedAndSentOnce) {
  http::HttpRequest request = asked_as("none");
  EXPECT_TRUE(request.guarded);
  EXPECT_TRUE(request.https_only);
  EXPECT_TRUE(request.is_sent_once);
  EXPECT_EQ(request.follow_redirects_max, 0);
  EXPECT_GT(request.total_timeout_ms, 0);
}

// Everything else is a server's word, for every server.
TEST(ClientRequest, IsGuardedButAtTheOriginThatTheOperatorTyped) {
  const OAuthReach reach{false, "http://10.0.0.7:8080/mcp"};
  const OAuthClient client{"c", "", "none"};
  EXPECT_FALSE(client_request("http://10.0.0.7:8080/token", client, {}, reach).guarded);
  EXPECT_FALSE(bounded_request("HTTP://10.0.0.7:8080/.well-known/x", reach).guarded);
  AuthorizationServer server;
  server.registration_endpoint = "http://10.0.0.7:8080/register";
  EXPECT_FALSE(registration_request(server, {}, reach).guarded);
  for (const char* other :
       {"https://10.0.0.7:8080/token", "http://10.0.0.7/token", "http://10.0.0.7:8081/token",
        "http://10.0.0.8:8080/token", "http://10.0.0.7:8080@10.0.0.8/token",
        "http://10.0.0.7.example:8080/token", "http://as.example/token", "10.0.0.7:8080", ""}) {
    EXPECT_TRUE(bounded_request(other, reach).guarded) << other;
  }
  EXPECT_TRUE(bounded_request("http://10.0.0.7:8080/token", OAuthReach()).guarded);
  EXPECT_TRUE(bounded_request("", OAuthReach()).guarded);
}

TEST(AuthMethod, IsTheServersWordElseTheBestItTakes) {
  EXPECT_EQ(auth_method_of({"client_secret_post"}, true, "client_secret_basic"),
            "client_secret_basic");
  EXPECT_EQ(auth_method_of({"none", "client_secret_post"}, true, ""), "client_secret_post");
  EXPECT_EQ(auth_method_of({"none"}, true, ""), "none");
  EXPECT_EQ(auth_method_of({"private_key_jwt"}, true, "private_key_jwt"), "client_secret_basic");
  EXPECT_EQ(auth_method_of({"client_secret_basic"}, false, "client_secret_basic"), "none");
}

TEST(Registration, SaysWhatKindOfApplicationThisIs) {
  AuthorizationServer server;
  server.registration_endpoint = "https://as.example/r";
  server.token_auth_methods = {"none"};
  for (const auto& [redirect, type] :
       {std::pair("https://hostler.example/v1/auth/mcp/callback", "web"),
        std::pair("https://127.0.0.1:8443/v1/auth/mcp/callback", "native"),
        std::pair("http://localhost:1/v1/auth/mcp/callback", "native")}) {
    http::HttpRequest request = registration_request(server, {redirect, {"a", "b"}}, {true, ""});
    Json sent = parse_json_or_nothing(request.body).value();
    EXPECT_EQ(sent.text_or("application_type"), type);
    EXPECT_EQ(sent.text_or("token_endpoint_auth_method"), "none");
    EXPECT_EQ(sent.text_or("scope"), "a b");
    EXPECT_EQ(sent.find("grant_types")->dump(), R"(["authorization_code","refresh_token"])");
    EXPECT_EQ(*sent.find("redirect_uris")->as_array()->at(0).as_text(), redirect);
  }
}

TEST(Registration, IsReadOrItsFaultTold) {
  AuthorizationServer server;
  server.token_auth_methods = {"client_secret_post"};
  std::variant<OAuthClient, std::string> read =
      read_registration(answered(201, R"({"client_id":"c","client_secret":"s"})"), server);
  ASSERT_TRUE(std::holds_alternative<OAuthClient>(read));
  EXPECT_EQ(std::get<OAuthClient>(read).method, "client_secret_post");
  for (const auto& [status, body] :
       {std::pair(400, R"({"error":"invalid_redirect_uri"})"), std::pair(201, "{}"),
        std::pair(201, "<html>"), std::pair(201, R"({"client_id":"a b"})")}) {
    EXPECT_TRUE(
        std::holds_alternative<std::string>(read_registration(answered(status, body), server)))
        << body;
  }
  std::variant<OAuthClient, std::string> refused =
      read_registration(answered(400, R"({"error":"invalid_redirect_uri"})"), server);
  EXPECT_NE(std::get<std::string>(refused).find("invalid_redirect_uri"), std::string::npos);
}

TEST(Tokens, AreReadWithWhatBelongsToThem) {
  std::variant<Tokens, TokenFault> read =
      read_tokens(answered(200, R"({"access_token":"a","token_type":"bEARER","expires_in":3600.5,)"
                                R"("refresh_token":"r","scope":"x y"})"));
  ASSERT_TRUE(std::holds_alternative<Tokens>(read));
  const Tokens& tokens = std::get<Tokens>(read);
  EXPECT_EQ(tokens.expires_in, 3600);
  EXPECT_EQ(tokens.scopes, (std::vector<std::string>{"x", "y"}));
  std::optional<Tokens> kept = read_tokens_json(tokens_json(tokens));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->access_token, "a");
  EXPECT_EQ(kept->refresh_token, "r");
}

TEST(Tokens, OfNoSoundFormAreNone) {
  for (const char* body :
       {"", "[]", R"({"access_token":"a"})", R"({"access_token":"a","token_type":"DPoP"})",
        R"({"access_token":"","token_type":"Bearer"})",
        "{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"Bearer\"}"}) {
    std::variant<Tokens, TokenFault> read = read_tokens(answered(200, body));
    ASSERT_TRUE(std::holds_alternative<TokenFault>(read)) << body;
    EXPECT_FALSE(std::get<TokenFault>(read).is_final) << body;
  }
}

TEST(Tokens, ThatAreRefusedAreSoForGoodOnlyByTheServersWord) {
  for (const auto& [status, is_final] :
       {std::pair(400, true), std::pair(401, true), std::pair(429, false), std::pair(503, false),
        std::pair(302, false)}) {
    std::variant<Tokens, TokenFault> read =
        read_tokens(answered(status, R"({"error":"invalid_grant","error_description":"<b>"})"));
    const TokenFault& fault = std::get<TokenFault>(read);
    EXPECT_EQ(fault.is_final, is_final) << status;
    EXPECT_EQ(fault.error, "invalid_grant");
    EXPECT_EQ(fault.words.find("<b>"), std::string::npos);
  }
  // A program before the server says nothing about the grant, whatever the status is.
  for (int status : {400, 401, 403, 404, 410}) {
    for (const char* body : {"", "<html>", R"({"error":"invalid_client"})", R"({"error":7})",
                             R"({"message":"invalid_grant"})", R"(["invalid_grant"])"}) {
      EXPECT_FALSE(std::get<TokenFault>(read_tokens(answered(status, body))).is_final)
          << status << body;
    }
  }
  http::HttpAnswer broke;
  broke.failure = http::HttpFailure{http::HttpFailureKind::timeout_total, "names an address"};
  EXPECT_FALSE(std::get<TokenFault>(read_tokens(broke)).is_final);
  EXPECT_FALSE(is_revoked(broke));
}

TEST(Tokens, AreRevokedWhenTheServerSaysSo) {
  EXPECT_TRUE(is_revoked(answered(200, "")));
  EXPECT_TRUE(is_revoked(answered(400, R"({"error":"unsupported_token_type"})")));
  EXPECT_FALSE(is_revoked(answered(403, "<html>")));
  EXPECT_FALSE(is_revoked(answered(400, "Bad Request")));
  EXPECT_FALSE(is_revoked(answered(503, "")));
}

}  // namespace
}  // namespace hostler::runner
