// Tests what logs may have of a request's path.
#include "lib/http/logged_path.h"

#include <gtest/gtest.h>

namespace hostler::http {
namespace {

TEST(LoggedPath, HasNoQueryNoTokenAndNoNameOfAClient) {
  const std::pair<const char*, const char*> cases[] = {
      {"/v1/threads/01a2?limit=1", "/v1/threads/01a2"},
      {"/v1/auth/mcp/callback?code=c&state=s", "/v1/auth/mcp/callback"},
      {"/v1/org-invitations/inv_x/accept", "/v1/org-invitations/{token}/accept"},
      {"/v1/org-invitation%73/inv_x", "/v1/org-invitations/{token}/accept"},
      {"/v1/org-invitations:accept", "/v1/org-invitations:accept"},
      {"/v1/ui/chat/my%20chat/messages?x", "/v1/ui/chat/{chat}/messages"},
      {"/v1/ui/chat/mine/stream", "/v1/ui/chat/{chat}/stream"},
      {"/v1/ui/chat", "/v1/ui/chat"},
      {"/v1/openai/models/own/model", "/v1/openai/models/{model}"},
      {"/v1/openai/models", "/v1/openai/models"},
      {"/v1/feature-flags/f/evaluate", "/v1/feature-flags/{key}/evaluate"},
      {"/v1/mcp-servers/01a2/tools/t:approve", "/v1/mcp-servers/01a2/tools/{tool}:approve"},
      {"/v1/mcp-servers/01a2/tools", "/v1/mcp-servers/01a2/tools"},
      {"", ""},
  };
  for (const auto& [target, logged] : cases) EXPECT_EQ(logged_path(target), logged) << target;
}

}  // namespace
}  // namespace hostler::http
