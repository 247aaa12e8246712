// Which tools an MCP server has: all pages of tools/list, each definition as it was sent. What it
// says is stored by runner/mcp/listing_job; nothing of a schema is looked up.
#pragma once

#include <string>

#include "lib/loop/task.h"
#include "runner/mcp/remote_session.h"

namespace hostler::runner {

// For mcp_listing_store(): {error: {code, message}}, or {protocol_version, ttl_ms, discovery,
// left_out, tools}.
Task<std::string> list_tools(OAuthServices services, SessionAsk ask);

}  // namespace hostler::runner
