// New tokens for a connection by its refresh token, by one daemon at a time. A refresh token may be
// good once: one whose answer is lost, because a daemon died with it, ends the connection, and
// somebody has to authorize again.
#pragma once

#include <cstdint>
#include <string>

#include "lib/loop/task.h"
#include "lib/postgres/database.h"
#include "runner/oauth/oauth_services.h"
#include "runner/oauth/token_request.h"

namespace hostler::runner {

enum class RefreshEnd {
  renewed,      // here or elsewhere: there are other tokens now
  impossible,   // no refresh token, or it holds no more
  unreachable,  // the authorization server did not answer soundly; the old tokens stay
};

// token_number: of the tokens that are to be replaced.
Task<RefreshEnd> refresh_tokens(OAuthServices services, std::string connection_id,
                                int64_t token_number);

// Client as which a connection or authorization speaks, from a row with client_id, client_method
// and client_secret.
OAuthClient client_of_row(const OAuthServices& services, const postgres::Row& row);
// Where it may: of its https_only, is_org_scope and resource, which is of the server's origin.
OAuthReach reach_of_row(const postgres::Row& row);

}  // namespace hostler::runner
