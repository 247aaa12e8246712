// Credentials for calls of MCP servers: nothing, a token or headers that were set with the server,
// or the OAuth tokens of a user or organization, refreshed before they end. Also handles a server's
// refusal of them. Secrets are opened for one call and kept nowhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/http/client.h"
#include "lib/loop/task.h"
#include "runner/oauth/challenge.h"
#include "runner/oauth/oauth_services.h"

namespace hostler::runner {

struct CredentialAsk {
  std::string server_id;
  std::string url;      // that is called
  std::string org_id;   // of the run; of a listing the server's, empty for the platform's
  std::string user_id;  // the run's creator; empty in a listing
  bool by_key = false;  // the run was made by an API key
  bool is_listing = false;
  // For a call that is to be cancelled: the connection with which it was sent, which may be ending.
  std::string last_of;
};

struct ShownCredential {
  std::vector<http::HttpField> headers;
  std::string connection_id;  // of OAuth; empty: none is shown
  int64_t token_number = 0;
  bool is_fresh = false;  // refreshed for this call
};

enum class Refusal {
  retry,                // send again with `shown`: newer tokens
  needs_authorization,  // wait for somebody to authorize; a listing fails with code and message
  failed,               // the call fails with code and message
};

struct CredentialOutcome {
  std::optional<ShownCredential> shown;
  Refusal refusal = Refusal::failed;
  std::string code;     // tool.…
  std::string message;  // for model and user; never a secret or what a stranger wrote
};

class ServerCredentials {
 public:
  explicit ServerCredentials(OAuthServices services) : services_(services) {}

  // Called before each request that leaves. The server may be contacted, and gets this credential,
  // if it still has the requested url (mcp_may_speak() in SQL). A listing without a connection has
  // no credential and is sent anyway, because the server's answer says how to connect. So is a
  // call, while no answer said that.
  Task<CredentialOutcome> show(CredentialAsk ask);
  // Behind a listing. A server that lists its tools for anybody may want an authorization for their
  // calls: what it says of that is looked for, so that somebody can connect before. Empty: it was
  // found, or known; else why not.
  Task<std::string> look_ahead(CredentialAsk ask);
  // The server answered 401 or 403; www_authenticate: that field, empty for none.
  Task<CredentialOutcome> refused(CredentialAsk ask, ShownCredential used, int status,
                                  std::string www_authenticate);

 private:
  Task<CredentialOutcome> show_connection(CredentialAsk ask, postgres::Result found);
  Task<CredentialOutcome> refused_connection(CredentialAsk ask, ShownCredential used, int status,
                                             Challenge challenge, postgres::Result found);
  Task<postgres::Result> find(CredentialAsk ask);

  OAuthServices services_;
};

}  // namespace hostler::runner
