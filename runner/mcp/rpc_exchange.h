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
#include "runner/mcp/wire.h"
#include "runner/oauth/oauth_services.h"

namespace hostler::runner {

struct RpcTarget {
  std::string url;
  bool is_org_scope = false;  // guarded; of the platform's own any address may be called
  std::vector<http::HttpField> credential;
  std::string trace_id;       // 32 hex digits, or empty
  int64_t limit_ms = 60'000;  // from the request to its answer
  size_t answer_bytes_max = size_t{5} << 20;
};

struct RpcAnswer {
  enum class Kind {
    result,  // json: the result
    error,   // code, message, json: the error's data
    status,  // an HTTP answer without a message: status, www_authenticate
    failed,  // no answer: was_heard, message
  };
  Kind kind = Kind::failed;
  std::string json;
  int64_t code = 0;
  std::string message;  // of an error the server's own words, bounded; else ours
  int status = 0;
  std::string www_authenticate;
  std::string session_id;
  bool was_heard = true;    // failed: whether the server may have heard it
  bool is_timeout = false;  // failed: nothing came in time
  bool is_denied = false;   // failed: an address that may not be called
};

// What an older server asks: the params of elicitation/create, as JSON text; answers the result as
// JSON text.
using RpcQuestion = std::function<Task<std::string>(std::string params)>;

// speech may get a session. Of a notification the answer is of kind status, or failed.
Task<RpcAnswer> exchange_rpc(OAuthServices services, RpcTarget target, Speech speech,
                             RpcMessage message, RpcQuestion question);

// A message of a server: a response with that id, read; nothing: it is another message.
std::optional<RpcAnswer> read_response(std::string_view text, std::string_view id);

}  // namespace hostler::runner
