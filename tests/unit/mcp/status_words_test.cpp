// HTTP answers of MCP servers that are no messages, in words.
#include "runner/mcp/status_words.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

http::HttpHead head(int status, const std::string& location = {}) {
  http::HttpHead made;
  made.status = status;
  if (!location.empty()) made.headers.emplace_back("location", location);
  return made;
}

TEST(StatusWords, SayWhatTheServerSaid) {
  constexpr std::string_view url = "https://m.example/mcp";
  EXPECT_EQ(words_of_status(head(404), url, ""), "The server answered 404.");
  EXPECT_EQ(words_of_status(head(400), url, " no\nsession "),
            "The server answered 400: no session");
  EXPECT_EQ(words_of_status(head(400), url, R"({"error":{"message":"no session"}})"),
            "The server answered 400: no session");
  EXPECT_EQ(words_of_status(head(400), url, R"({"detail":"Not here"})"),
            "The server answered 400: Not here");
  EXPECT_EQ(words_of_status(head(502), url, "<html><body>x"), "The server answered 502.");
  EXPECT_LT(words_of_status(head(500), url, std::string(5000, 'x')).size(), 400);
}

TEST(StatusWords, NameWhereARedirectLeads) {
  constexpr std::string_view url = "https://m.example/mcp";
  EXPECT_EQ(words_of_status(head(307, "/mcp/?token=x"), url, ""),
            "The server answered 307: it leads to https://m.example/mcp/. Redirects are not "
            "followed: make that address the url of the server.");
  EXPECT_EQ(words_of_status(head(308, "http://m.example/mcp/"), url, ""),
            "The server answered 308: it leads to http://m.example/mcp/, another origin. "
            "Redirects are not followed: if you trust that address, make it the url of the "
            "server.");
  EXPECT_EQ(words_of_status(head(302), url, "moved"), "The server answered 302: moved");
}

}  // namespace
}  // namespace hostler::runner
