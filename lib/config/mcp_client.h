// How Hostler describes itself to authorization servers of MCP servers: the address to which
// browsers return, and the URL of its client ID metadata document. Pool and daemon must use the
// same.
#pragma once

#include <string>

#include "lib/config/settings.h"

namespace hostler::config {

// Where authorization servers send browsers back; empty: nobody told this site's address.
std::string mcp_redirect_uri(const Settings& settings);
// URL of our client ID metadata document, which is https. Empty if an authorization server could
// not read one.
std::string mcp_client_id_url(const Settings& settings);

}  // namespace hostler::config
