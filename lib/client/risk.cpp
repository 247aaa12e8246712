// Signals and their sum; see lib/client/risk.h.
#include "lib/client/risk.h"

#include <algorithm>
#include <array>

#include "lib/client/user_agent.h"

namespace hostler::client {
namespace {

constexpr std::array<RiskSignal, 4> signals{{
    {"no_user_agent", 40, "The request has no User-Agent."},
    {"bot_user_agent", 40, "The User-Agent names a bot."},
    {"no_authorization", 20, "The request has no Authorization."},
    {"listed_address", 60, "The client's address is on a list of the operator."},
}};

}  // namespace

std::span<const RiskSignal> risk_signals() { return signals; }

double risk_score(const RiskFacts& facts) {
  const std::array<bool, signals.size()> are_there{
      facts.user_agent.empty(),
      user_agent_class(facts.user_agent) == UserAgentClass::bot,
      !facts.has_authorization,
      facts.is_listed,
  };
  // Whole percents: a score equals the threshold that was written for it.
  int percent = 0;
  for (size_t i = 0; i < signals.size(); ++i) {
    if (are_there[i]) percent += signals[i].weight_percent;
  }
  return std::min(percent, 100) / 100.0;
}

}  // namespace hostler::client
