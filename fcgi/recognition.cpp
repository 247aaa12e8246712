// Requests judged by the gateway's settings; see fcgi/recognition.h.
#include "fcgi/recognition.h"

#include <algorithm>
#include <array>

#include "fcgi/route.h"

namespace hostler {
namespace {

constexpr std::array<std::string_view, 3> judged_by_account{"/v1/auth/login", "/v1/auth/refresh",
                                                            "/v1/auth/email/otp/verify"};

}  // namespace

void recognize(const Gateway& gateway, Request& request) {
  RequestOrigin origin;
  origin.address = {request.peer_address, request.forwarded_for, request.connecting_ip};
  origin.traceparent = request.traceparent;
  origin.user_agent = request.user_agent;
  origin.authorization = request.authorization;
  ClientFacts facts = gateway.facts_of(origin);
  request.client_ip = std::move(facts.client_ip);
  request.risk_score = facts.risk_score;
  request.is_risky = facts.is_risky;
  request.needs_proof = facts.needs_proof;
  if (facts.trace_id) request.trace_id = std::move(*facts.trace_id);
}

void refuse_risky(const Request& request) {
  const Route& route = *request.route;
  if (!request.is_risky || route.access.who != Access::Who::open || route.rate == Rate::none)
    return;
  bool is_judged_later = std::find(judged_by_account.begin(), judged_by_account.end(),
                                   route.path) != judged_by_account.end();
  if (!is_judged_later) throw Error(ErrorCode::risk_rejected);
}

}  // namespace hostler
