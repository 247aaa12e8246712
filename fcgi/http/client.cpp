// See fcgi/http/client.h.
#include "fcgi/http/client.h"

#include <utility>

namespace hostler {

Client client_of(const client::Gateway& gateway, const Request& request) {
  client::RequestOrigin origin;
  origin.address = {request.peer_address, request.forwarded_for, request.connecting_ip};
  origin.traceparent = request.traceparent;
  origin.user_agent = request.user_agent;
  origin.authorization = request.authorization;
  client::ClientFacts facts = gateway.facts_of(origin);
  Client client;
  client.ip = std::move(facts.client_ip);
  client.trace_id = request.trace_id;
  if (facts.trace_id) client.trace_id = std::move(*facts.trace_id);
  client.user_agent = request.user_agent;
  client.risk_score = facts.risk_score;
  client.is_risky = facts.is_risky;
  client.needs_proof = facts.needs_proof;
  client.needs_factor = std::move(facts.needs_factor);
  return client;
}

}  // namespace hostler
