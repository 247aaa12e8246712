// How risky a request looks: the table of signals with their weights, and their sum (contract
// section 7). The document of PUT /v1/admin/gateway-config says the same table. Who is refused
// is for the threshold in lib/client/gateway to say.
#pragma once

#include <span>
#include <string_view>

namespace hostler::client {

struct RiskSignal {
  std::string_view name;
  int weight_percent;
  std::string_view sentence;
};

std::span<const RiskSignal> risk_signals();

struct RiskFacts {
  std::string_view user_agent;
  bool has_authorization = false;
  bool is_listed = false;  // the client's address is on one of the operator's lists
};

// 0 to 1: the weights of the signals that are there, at most 1.
double risk_score(const RiskFacts& facts);

}  // namespace hostler::client
