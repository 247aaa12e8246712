// Listings of MCP servers as a daemon would store them, for tests without one.
#pragma once

#include <string>
#include <vector>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

struct ListedTool {
  std::string name;
  std::string description = "Does it.";
  std::string more = "";  // further members of the definition, each behind a comma
};

std::string definition_of(const ListedTool& tool);

// The server was listed now, with these.
void store_listing(ApiStack& stack, const std::string& server_id,
                   const std::vector<ListedTool>& tools);

void fail_listing(ApiStack& stack, const std::string& server_id, const std::string& code,
                  const std::string& message);

}  // namespace hostler::testing_support
