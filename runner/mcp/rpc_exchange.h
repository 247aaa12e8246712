// One request to an MCP server and what comes back for it: as JSON, or as an event stream with
// other messages before it. A broken stream of an older server is taken up by GET; what such a
// server asks on the way is answered. Bounded in bytes and time; says how sure it is that the
// server heard the request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/http/client.h"
#include "lib/json.h"
#include "lib/loop/task.h"
#include "runner/mcp/rpc_answer.h"
#include "runner/mcp/wire.h"
#include "runner/oauth/oauth_services.h"

namespace hostler::runner {

// Credential for a request that leaves now, or nothing if the server must not be contacted any
// more.
using RpcCredential = std::function<Task<std::optional<std::vector<http::HttpField>>>()>;

struct RpcTarget {
  std::string url;
  bool is_org_scope = false;  // guarded; of the platform's own any address may be called
  std::vector<http::HttpField> credential;  // of the first request
  RpcCredential next_credential;            // of those after it; none: as of the first
  std::string trace_id;                     // 32 hex digits, or empty
  int64_t limit_ms = 60'000;                // from the request to its answer
  size_t answer_bytes_max = size_t{5} << 20;
};

// Answers the request of an older server. It gets the params of elicitation/create as JSON text and
// returns the result as JSON text.
using RpcQuestion = std::function<Task<std::string>(std::string params)>;

// A session that the server begins is the answer's. Of a notification the answer is of kind
// status, or failed.
Task<RpcAnswer> exchange_rpc(OAuthServices services, RpcTarget target, Speech speech,
                             RpcMessage message, RpcQuestion question);

// The stream on which an older server sends what belongs to no request of ours (GET): what it asks
// there is answered, until the stream ends. on_open: called when it is known whether it has one.
Task<void> listen_to_server(OAuthServices services, RpcTarget target, Speech speech,
                            RpcQuestion question, std::function<void()> on_open);

// Ends the session of an older server that gave one (DELETE); what it answers means nothing.
Task<void> end_session(OAuthServices services, RpcTarget target, Speech speech);

}  // namespace hostler::runner
