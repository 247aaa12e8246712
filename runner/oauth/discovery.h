// Finds out how somebody may be authorized for a server that asks for OAuth: whose tokens it takes
// (RFC 9728), what that authorization server offers (RFC 8414), and as whom Hostler is known there;
// where it is not, it registers. What was found is stored, so that POST :connect asks nobody.
// Which addresses may be asked: OAuthReach.
#pragma once

#include <string>
#include <vector>

#include "lib/loop/task.h"
#include "runner/oauth/challenge.h"
#include "runner/oauth/oauth_services.h"
#include "runner/oauth/token_request.h"

namespace hostler::runner {

struct DiscoveryAsk {
  std::string server_id;
  std::string org_id;  // the server's; empty: the platform's
  std::string url;
  std::string given_client_id;  // told with the server; empty: none
  bool has_given_secret = false;
  std::vector<std::string> given_scopes;
  Challenge challenge;  // of the answer that asked for it
  OAuthReach reach;
};

// Returns an empty text after storing it. Otherwise the reason why nobody can be authorized, for
// the person who registered the server. The old value then stays.
Task<std::string> discover_authorization(OAuthServices services, DiscoveryAsk ask);

}  // namespace hostler::runner
