// How an MCP server lets itself be called, as a client writes it: read, checked, and what of it is
// secret sealed before it is stored. Used by the handlers of MCP servers.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/handler.h"
#include "fcgi/http/input.h"
#include "lib/json.h"

namespace hostler {

struct McpAuthorization {
  std::string kind;      // none, bearer, headers or oauth
  std::string settings;  // what may be shown, as JSON
  std::string secret;    // what may not, as JSON; empty: nothing is

  // Both as members of what the statement takes.
  void add_to(JsonWriter& json) const;
  // Sealed for the request's scope, for the statement; nothing when nothing is secret.
  std::optional<std::string> sealed(const Call& call) const;
};

// The member "authorization"; nothing when it is absent or has a fault.
std::optional<McpAuthorization> read_mcp_authorization(Fields& fields);

}  // namespace hostler
