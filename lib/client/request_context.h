// Facts about a request that go to the database beside the caller. sql authenticate() checks by
// them, and the audit log keeps them (sql: current_request()). The API and the stream server send
// the same members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/account/caller.h"

namespace hostler::client {

// Absent members are left out.
struct RequestContext {
  std::string_view trace_id;
  std::string_view client_ip;
  std::string_view user_agent;
  bool is_risky = false;          // for whoever is no platform admin
  bool needs_proof = false;       // of the caller's mail address
  bool before_factor = false;     // also for whoever lacks a second factor that is asked for
  std::string_view needs_factor;  // platform_admins or everyone (auth.require_factor); or empty
  bool own_account = false;       // not for sessions that an organization's identity provider began
  int64_t sso_exempt_seconds = 0;  // age of a proof that exempts owners from a required provider
  std::string sso_flows;   // the waiting logins of the browser, in JSON (sql: session_begin)
  bool is_replay = false;  // an attempt that was refused: only who it was is asked
  bool writes = false;
  int64_t fresh_seconds = 0;  // how long ago the session may have been proved; 0: any time
  std::string_view ends;      // the user that a write may end, or "self"
  std::string_view login_hmac;
  std::string_view org_named;  // in path or query
  std::optional<std::string_view> scope;
  const account::Caller* caller = nullptr;  // as authenticated before
};

std::string request_context_json(const RequestContext& context);

}  // namespace hostler::client
