// Remote tools with the real daemon and a real server of MCP with TLS
// (tests/support/peers/mcp_server.py): registered servers, personas that name their tools, and what
// the server was sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/peers/outside_peers.h"
#include "tests/support/rigs/webhook_harness.h"

namespace hostler::testing_support {

// Started at the first call; what it serves is in mcp_server.py. Called by webhook_stack().
OutsidePeer& mcp_server();

// A user whose persona "remote" names all tools of the server "shop" of their organization.
struct RemoteUser {
  TestUser user;
  std::string server_id;
  std::string path;  // of the server
  std::string scope = "org";

  std::string run(std::string_view script) const {
    return start_output(user.client, script, R"({"persona_id":"remote@1"})");
  }
  std::string at(const std::string& further = "") const {
    return "/v1/mcp-servers/" + server_id + further + "?scope=" + scope;
  }
  Json server() const { return user.client.get(at()).json(); }
  // Asks until its listing has this state, 20 s at most; the server then.
  Json wait_for_listing(std::string_view state) const;
  // Returns what its tool of this name, as models call it, is: GET …/tools.
  Json tool(std::string_view name) const;
};

// form: modern/json, modern/sse, older/json, … ; further: members of the server. Waits until it is
// listed.
RemoteUser make_remote(const std::string& form, std::string_view further = R"("trust":"run")");

// From now on its tools say so of themselves.
void change_definitions(const RemoteUser& remote, const std::string& description);

// Returns what the server was sent at this path: requests of this method of the protocol; empty:
// any.
std::vector<Json> sent_to(const std::string& path, std::string_view rpc = "tools/call");

}  // namespace hostler::testing_support
