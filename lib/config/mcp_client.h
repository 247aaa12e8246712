// What Hostler tells authorization servers of MCP servers about itself: where browsers come back,
// and where its client ID metadata document lies. Pool and daemon must say the same.
#pragma once

#include <string>

#include "lib/config/settings.h"

namespace hostler::config {

// Where authorization servers send browsers back; empty: nobody told this site's address.
std::string mcp_redirect_uri(const Settings& settings);
// The URL of our client ID metadata document, which is https; empty: there is none that an
// authorization server could read.
std::string mcp_client_id_url(const Settings& settings);

}  // namespace hostler::config
