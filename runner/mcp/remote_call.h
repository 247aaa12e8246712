// One call of a tool of an MCP server: what is asked, and what the server's answer is. Decides
// nothing about repeating: runner/tools/mcp_call.cpp does, by how it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/loop/task.h"
#include "runner/mcp/remote_session.h"
#include "runner/mcp/rpc_exchange.h"
#include "runner/oauth/oauth_services.h"
#include "runner/oauth/server_credentials.h"

namespace hostler::runner {

struct RemoteServer {
  std::string id;
  std::string url;
  bool is_org_scope = false;
  std::string protocol_version;  // as the last listing found it; empty: nobody knows
};

struct RemoteCall {
  RemoteServer server;
  CredentialAsk credential;
  std::string tool;             // as its server names it
  std::string definition;       // as it was approved, JSON text
  std::string arguments;        // JSON text of an object
  std::string input_responses;  // JSON text of an object; empty: nothing was asked before
  std::optional<std::string> request_state;
  bool may_repeat = false;  // by its approved hints it does nothing, or nothing more, again
  std::string trace_id;     // 32 hex digits, or empty
  int64_t limit_ms = 0;     // of the whole call
  RpcQuestion ask;  // what an older server asks meanwhile; none: it is told that nobody answers
};

struct RemoteOutcome {
  enum class Ending {
    result,               // text
    input_required,       // questions, request_state
    task,                 // task_id, poll_ms: the result comes later
    needs_authorization,  // nothing was done: the server knows nobody
    never_sent,           // the server cannot have heard of it
    unknown,              // it was sent, and no answer came
    failed,               // code, message
  };
  Ending ending = Ending::failed;
  std::string text;       // JSON text; of an error of the tool plain words
  bool is_error = false;  // the tool's own
  std::string code;       // tool.…
  std::string message;
  std::string questions;  // JSON text: inputRequests
  std::optional<std::string> request_state;
  std::string task_id;
  int64_t poll_ms = 0;
  std::string connection_id;  // of OAuth, that was shown; empty: none
};

// Server of the call's session.
SessionAsk session_of(const RemoteCall& call);
// The first request of the session. Cancelled by destroying it: the connection is closed, which
// tells a server of the modern revision; for others see RemoteSession::cancelling().
Task<RemoteOutcome> call_remote(OAuthServices services, RemoteSession& session, RemoteCall call);

// Converts a CallToolResult, JSON text, into the outcome of the call.
RemoteOutcome outcome_of_result(std::string_view result);
// Outcome of a request that is part of a call, if it is not a result.
RemoteOutcome outcome_of_failure(SessionAnswer sent);

}  // namespace hostler::runner
