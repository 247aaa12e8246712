// MCP servers with the habits of real ones, with the real daemon: they are listed and called, or
// the fault names the fix.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/remote_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

std::string echoed(const RemoteUser& remote) {
  std::string run_id = remote.run(R"([tool shop__echo {"text":"hi"}] [say done])");
  EXPECT_EQ(wait_for_status(remote.user.client, run_id, "completed"), "completed");
  return story_of(remote.user.client, run_id).result();
}

TEST(OddServers, AreListedAndCalledAllTheSame) {
  for (const char* habit : {"v2024", "lists", "nothing", "object", "fault", "missing", "forbidden",
                            "id", "null", "notes", "text", "event", "circle"}) {
    SCOPED_TRACE(habit);
    RemoteUser remote = make_remote(fmt::format("odd/{}", habit));
    EXPECT_EQ(echoed(remote), R"("hi")");
    Json server = remote.server();
    const Json* listing = server.find("listing");
    EXPECT_EQ(listing->find("left_out")->as_array()->size(), 1u) << listing->dump();
    std::string_view version = habit == std::string_view("v2024")   ? "2024-11-05"
                               : habit == std::string_view("lists") ? "2025-06-18"
                                                                    : "2025-11-25";
    EXPECT_EQ(listing->text_or("protocol_version"), version);
  }
}

TEST(OddServers, GetANewSessionOnceForOneThatIsOver) {
  for (const char* habit : {"over404", "over400"}) {
    SCOPED_TRACE(habit);
    RemoteUser remote = make_remote(fmt::format("odd/{}", habit));
    EXPECT_EQ(echoed(remote), R"("hi")");
    std::vector<Json> calls = sent_to(remote.path);
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(field(calls[0], "mcp-session-id"), "s-2");
    EXPECT_EQ(field(calls[1], "mcp-session-id"), "s-3");
    EXPECT_EQ(sent_to(remote.path, "initialize").size(), 3u);
  }
}

std::string listing_error(const std::string& form) {
  TestUser user = register_user(webhook_stack());
  Answer server = user.client.post(
      "/v1/mcp-servers?scope=org",
      fmt::format(R"({{"key":"shop","url":"{}","authorization":{{"type":"none"}}}})",
                  mcp_server().url(form)));
  EXPECT_EQ(server.status, 201) << server.body;
  RemoteUser remote{user, server.member("id"), form};
  Json failed = remote.wait_for_listing("failed");
  const Json* error = failed.find("listing")->find("error");
  return fmt::format("{}: {}", error->text_or("code"), error->text_or("message"));
}

TEST(OddServers, AreToldApartInWords) {
  EXPECT_EQ(
      listing_error("/odd/future/x"),
      "tool.bad_answer: The server requires revision 2031-01-01 of the protocol; Hostler supports "
      "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05.");
  EXPECT_EQ(listing_error("/redirect/x"),
            "tool.failed: The server answered 307: it leads to " +
                mcp_server().url("/redirect/x/") +
                ". Redirects are not followed: make that address the url of the server.");
}

}  // namespace
}  // namespace hostler::testing_support
