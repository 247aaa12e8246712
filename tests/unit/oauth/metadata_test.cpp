// Where metadata of servers and their authorization servers lie, and what of them holds.
#include "runner/oauth/metadata.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::runner {
namespace {

using Urls = std::vector<std::string>;

http::HttpUrl url_of(std::string_view text) { return http::parse_http_url(text).value(); }

constexpr const char* issuer = "https://as.example/tenant";
constexpr const char* endpoints =
    R"("authorization_endpoint":"https://as.example/a","token_endpoint":"https://as.example/t",)"
    R"("code_challenge_methods_supported":["plain","S256"])";

std::string issuer_document(std::string_view members) {
  return fmt::format(R"({{"issuer":"{}",{}}})", issuer, members);
}

std::string fault_of(std::string_view document, bool https_only = true) {
  std::variant<AuthorizationServer, std::string> read =
      read_issuer_metadata(document, issuer, https_only);
  return std::holds_alternative<std::string>(read) ? std::get<std::string>(read) : "";
}

TEST(ResourceMetadataUrls, ArePathThenRoot) {
  EXPECT_EQ(resource_metadata_urls(url_of("https://m.example:8443/public/mcp/?a=b")),
            (Urls{"https://m.example:8443/.well-known/oauth-protected-resource/public/mcp",
                  "https://m.example:8443/.well-known/oauth-protected-resource"}));
  EXPECT_EQ(resource_metadata_urls(url_of("https://m.example")),
            Urls{"https://m.example/.well-known/oauth-protected-resource"});
}

TEST(IssuerMetadataUrls, AreAllThreeFormsInTheirOrder) {
  EXPECT_EQ(issuer_metadata_urls("https://as.example/t1"),
            (Urls{"https://as.example/.well-known/oauth-authorization-server/t1",
                  "https://as.example/.well-known/openid-configuration/t1",
                  "https://as.example/t1/.well-known/openid-configuration"}));
  EXPECT_EQ(issuer_metadata_urls("https://as.example"),
            (Urls{"https://as.example/.well-known/oauth-authorization-server",
                  "https://as.example/.well-known/openid-configuration"}));
  for (const char* bad : {"", "as.example", "ftp://as.example", "https://as.example/?q=1",
                          "https://u:p@as.example"}) {
    EXPECT_EQ(issuer_metadata_urls(bad), Urls{}) << bad;
  }
}

TEST(ResourceMetadata, AreOfTheServerOrWhatItIsAPartOf) {
  for (const char* resource : {"https://m.example/a/mcp", "https://m.example/a",
                               "https://m.example", "https://M.EXAMPLE:443/"}) {
    std::variant<ResourceMetadata, std::string> read =
        read_resource_metadata(fmt::format(R"({{"resource":"{}","authorization_servers":["x","y"],)"
                                           R"("scopes_supported":["a","b"]}})",
                                           resource),
                               url_of("https://m.example/a/mcp"));
    ASSERT_TRUE(std::holds_alternative<ResourceMetadata>(read)) << resource;
    EXPECT_EQ(std::get<ResourceMetadata>(read).resource, resource);
    EXPECT_EQ(std::get<ResourceMetadata>(read).issuer, "x");
    EXPECT_EQ(std::get<ResourceMetadata>(read).scopes_supported, (Urls{"a", "b"}));
  }
}

TEST(ResourceMetadata, OfAnotherResourceAreRefused) {
  for (const char* resource :
       {"https://evil.example/a/mcp", "http://m.example/a/mcp", "https://m.example:444/a/mcp",
        "https://m.example/a/mc", "https://m.example/a/mcp/b", "https://m.example/b", "", "a"}) {
    std::variant<ResourceMetadata, std::string> read = read_resource_metadata(
        fmt::format(R"({{"resource":"{}","authorization_servers":["x"]}})", resource),
        url_of("https://m.example/a/mcp"));
    EXPECT_TRUE(std::holds_alternative<std::string>(read)) << resource;
  }
}

TEST(ResourceMetadata, WithoutAnAuthorizationServerAreRefused) {
  for (const char* rest : {"", R"(,"authorization_servers":[])", R"(,"authorization_servers":"x")",
                           R"(,"authorization_servers":[1])"}) {
    std::variant<ResourceMetadata, std::string> read =
        read_resource_metadata(fmt::format(R"({{"resource":"https://m.example"{}}})", rest),
                               url_of("https://m.example/mcp"));
    EXPECT_TRUE(std::holds_alternative<std::string>(read)) << rest;
  }
  EXPECT_TRUE(std::holds_alternative<std::string>(
      read_resource_metadata("<html>", url_of("https://m.example"))));
}

TEST(IssuerMetadata, AreReadWithTheirDefaults) {
  std::variant<AuthorizationServer, std::string> read =
      read_issuer_metadata(issuer_document(endpoints), issuer, true);
  ASSERT_TRUE(std::holds_alternative<AuthorizationServer>(read));
  const AuthorizationServer& server = std::get<AuthorizationServer>(read);
  EXPECT_EQ(server.issuer, issuer);
  EXPECT_EQ(server.token_auth_methods, Urls{"client_secret_basic"});
  EXPECT_FALSE(server.tells_issuer);
  EXPECT_FALSE(server.takes_client_documents);
  EXPECT_EQ(server.registration_endpoint, "");
  EXPECT_FALSE(server.takes_scope("offline_access"));
}

TEST(IssuerMetadata, OfAnotherIssuerAreRefusedWithoutNormalization) {
  for (const char* other : {"https://as.example/tenant//", "https://AS.example/tenant", "/", "",
                            "https://as.example:443/tenant", "https://attacker.example"}) {
    std::string document = fmt::format(R"({{"issuer":"{}",{}}})", other, endpoints);
    EXPECT_NE(fault_of(document), "") << other;
  }
  EXPECT_EQ(fault_of(issuer_document(endpoints)), "");
}

// Answers are compared with what the issuer calls itself.
TEST(IssuerMetadata, MayNameItWithASlashMoreOrLess) {
  for (const auto& [asked, own] : {std::pair("https://as.example/", "https://as.example"),
                                   std::pair("https://as.example/t", "https://as.example/t/")}) {
    std::variant<AuthorizationServer, std::string> read =
        read_issuer_metadata(fmt::format(R"({{"issuer":"{}",{}}})", own, endpoints), asked, true);
    ASSERT_TRUE(std::holds_alternative<AuthorizationServer>(read)) << asked;
    EXPECT_EQ(std::get<AuthorizationServer>(read).issuer, own);
  }
}

TEST(IssuerMetadata, WithoutS256AreRefused) {
  constexpr const char* two =
      R"("authorization_endpoint":"https://as.example/a","token_endpoint":"https://as.example/t")";
  EXPECT_NE(fault_of(issuer_document(two)), "");
  EXPECT_NE(fault_of(issuer_document(std::string(two) +
                                     R"(,"code_challenge_methods_supported":["plain"])")),
            "");
}

TEST(IssuerMetadata, NeedHttpsWhereTheServerDoes) {
  std::string document = issuer_document(
      R"("authorization_endpoint":"http://as.example/a","token_endpoint":"http://as.example/t",)"
      R"("code_challenge_methods_supported":["S256"])");
  EXPECT_NE(fault_of(document, true), "");
  EXPECT_EQ(fault_of(document, false), "");
  for (const char* bad : {"javascript:alert(1)", "", "https://u:p@as.example/a", "/a"}) {
    std::string other = issuer_document(
        fmt::format(R"("authorization_endpoint":"{}","token_endpoint":"https://as.example/t",)"
                    R"("code_challenge_methods_supported":["S256"])",
                    bad));
    EXPECT_NE(fault_of(other, false), "") << bad;
  }
}

}  // namespace
}  // namespace hostler::runner
