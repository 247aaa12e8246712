// How one try of a model's turn ended: the code and the words of a failure, and whether another try
// may help. Used by the model client.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/http/client.h"
#include "runner/models/turn_reader.h"

namespace hostler {

// An empty code: the turn is complete.
struct TryEnd {
  std::string code;
  std::string message;
  std::string reason;  // one word, for run.retrying and the log
  bool may_retry = false;
  bool is_unreadable = false;   // of a code of its own also after text was shown
  bool is_of_provider = false;  // another provider may answer the same request
  bool is_outage = false;       // a connection fault, 5xx or silence: the circuit breaker counts it
  std::optional<int64_t> retry_after_ms;
  std::optional<ProviderError> refusal;  // in the provider's words, with its status
};

TryEnd end_by_refusal(ProviderError error, std::string_view api_key);
TryEnd end_by_http_failure(const http::HttpFailure& failure);
TryEnd end_by_fault(const TurnFault& fault, std::string_view api_key);
TryEnd end_too_early();
TryEnd end_full(const ModelObserver& observer);

// "it redirects to …": where a redirect leads, without its query. request_url: what was asked.
std::string redirect_words(std::string_view location, std::string_view request_url);

}  // namespace hostler
