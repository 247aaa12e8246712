// One request as a plain value: what nginx said about it, and what routing and authentication found
// out. Made by fcgi/worker.cpp (and by tests), filled by fcgi/dispatch.cpp, read by handlers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fcgi/rate_table.h"
#include "lib/access_note.h"
#include "lib/caller.h"
#include "lib/error.h"
#include "lib/request_target.h"

namespace hostler {

struct Once;
struct Route;

enum class Method : uint8_t { get, head, post, put, patch, del, options, other };

Method method_named(std::string_view name);
std::string_view method_name(Method method);

constexpr size_t path_values_max = 4;

// Views point into the FastCGI parameters, which outlive the request. It stays where it is made.
struct Request {
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // The path's value of that name in the route, such as "run_id". Names ending in _id are UUIDs by
  // the time a handler runs.
  std::string_view path_value(std::string_view name) const;
  // A header field by its FastCGI name ("HTTP_X_ORG_ID"); absent: empty.
  std::string_view header(std::string_view fcgi_name) const;
  // The value of the first query parameter of that name, unchecked. Handlers use fcgi/input.h.
  const std::string* query_value(std::string_view name) const;

  // The organization to act in, as the client named it; empty: the caller's own.
  std::string_view org_named() const;

  const char* const* params = nullptr;  // NAME=value…, ended by a null pointer
  Method method = Method::other;
  std::string_view uri;  // as in the request line: path and query, encoded
  std::string_view content_type;
  std::string_view authorization;
  std::string_view org_id_wanted;  // X-Org-Id
  std::string_view origin;
  std::string_view user_agent;
  std::string_view peer_address;
  std::string_view forwarded_for;  // X-Forwarded-For, all lines of it
  std::string_view connecting_ip;  // CF-Connecting-IP; given twice: no address
  std::string_view traceparent;
  bool is_tls = false;
  int64_t content_length = 0;  // as announced; the body is read only up to body_bytes_max
  std::string body;
  bool body_is_short = false;  // fewer bytes came than announced
  std::string trace_id;        // 32 hex characters

  // From here on filled by dispatch.
  Target target;
  const Route* route = nullptr;
  std::array<std::pair<std::string_view, std::string_view>, path_values_max> path_values;
  size_t path_value_count = 0;
  // Who the client is for audit, limits and rules, and how risky it looks (lib/gateway.h).
  std::string client_ip;
  double risk_score = 0;
  bool is_risky = false;
  bool needs_proof = false;       // callers need a proved mail address, but where they prove it
  std::optional<RateCount> rate;  // when it was counted
  Credential credential;
  bool was_sent = false;  // a statement of the handler, and the authenticating one before it
  Caller caller;
  std::optional<Identity> denied;  // who was refused by the authenticating statement
  std::string login_hmac;          // of the login that a handler was given (Services::hash_login)
  std::shared_ptr<Once> once;      // the transaction of a call with an Idempotency-Key
};

// Reads the parameters that every request has; makes a trace id when nginx gave none.
void read_params(const char* const* params, Request& request);

}  // namespace hostler
