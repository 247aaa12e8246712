// How one MCP server is spoken with for one listing or call: finds out which revision it speaks
// (server/discover, else initialize), shows the credential, and when that is refused asks for a
// newer one once. Each request that leaves asks for the credential again, and so whether the server
// may still be spoken to at this address. Begins a new session, once, when the server does not know
// its own any more. Lives as long as the listing or call.
#pragma once

#include <optional>
#include <string>

#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/mcp/rpc_exchange.h"
#include "runner/oauth/server_credentials.h"

namespace hostler::runner {

struct SessionAsk {
  CredentialAsk credential;
  bool is_org_scope = false;
  std::string protocol_version;  // as it was found before; empty: nobody knows
  std::string trace_id;
  int64_t limit_ms = 60'000;  // of each request
  RpcQuestion question;       // of an older server; none: it is told that nobody answers
};

// Outcome of a request. Without refusal `answer` is of kind result, error, or failed.
struct SessionAnswer {
  RpcAnswer answer;
  std::optional<CredentialOutcome> refused;  // 401 or 403, for good
};

class RemoteSession {
 public:
  RemoteSession(OAuthServices services, SessionAsk ask);

  // The first one begins with what is needed to speak with the server.
  Task<SessionAnswer> request(RpcMessage message);
  const std::string& version() const { return speech_.version; }
  // Which connection of OAuth was shown last; empty: none.
  std::string connection_id() const { return shown_ ? shown_->connection_id : std::string(); }
  // Tells an older server that it need keep nothing of the session; of all others nothing is sent.
  // Best when the last answer was taken: it is waited for, for seconds.
  Task<void> end();
  // Message that tells an older server that nobody waits for the last request's answer, or nothing
  // if closing the connection is enough. Lives without the session.
  std::optional<Task<void>> cancelling() const;

 private:
  Task<std::optional<SessionAnswer>> begin();
  Task<std::optional<SessionAnswer>> discover();
  Task<std::optional<SessionAnswer>> initialize(std::string version);
  Task<std::optional<SessionAnswer>> begin_again();
  Task<void> listen();
  Task<SessionAnswer> send(RpcMessage message);
  Task<std::optional<SessionAnswer>> show();
  bool may_begin_again(const SessionAnswer& sent, bool may_repeat) const;
  RpcTarget target() const;

  OAuthServices services_;
  SessionAsk ask_;
  Speech speech_;
  std::string last_id_;  // of the last request
  std::optional<ShownCredential> shown_;
  bool is_renewed_ = false;
  bool has_begun_ = false;
  bool has_begun_again_ = false;
  loop::TaskSet listening_;  // last: its coroutine uses all of the above
};

}  // namespace hostler::runner
