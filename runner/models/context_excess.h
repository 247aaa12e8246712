// Recognizes a refusal of a request that is longer than the model's context. Called by the model
// client; pure.
#pragma once

#include <optional>

#include "runner/models/model.h"
#include "runner/models/provider_error.h"

namespace hostler {

// Returns nothing if the refusal has another reason. The message is the provider's, not shortened.
std::optional<ContextExcess> context_excess(int status, const ProviderError& error);

}  // namespace hostler
