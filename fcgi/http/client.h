// Facts about a client before anybody is asked: address, trace, risk, by the gateway's settings.
// Made by fcgi/dispatch.cpp; it rejects nobody.
#pragma once

#include <string>

#include "fcgi/http/request.h"
#include "lib/client/gateway.h"

namespace hostler {

// Views point into the request.
struct Client {
  std::string ip;  // for audit, limits and rules
  std::string trace_id;
  std::string_view user_agent;
  double risk_score = 0;
  bool is_risky = false;
  std::string needs_factor;  // platform_admins or everyone need a second factor; empty: nobody
  bool needs_proof = false;  // callers need a proved mail address, but where they prove it
};

Client client_of(const client::Gateway& gateway, const Request& request);

}  // namespace hostler
