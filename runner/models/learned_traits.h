// Learns from a refusal which member of the request a model's provider does not accept. Called by
// the model client; pure.
#pragma once

#include <optional>
#include <string_view>

#include "runner/models/model.h"
#include "runner/models/provider_error.h"

namespace hostler {

// The traits of the request with the one that the refusal taught. Nothing: the refusal names no
// member that was sent, or one that the caller asked for by name. Only words that refuse a member
// count, not those about its value.
std::optional<ModelTraits> learned_from(int status, const ProviderError& error,
                                        const ModelRequest& request);

// The member of ModelTraits in which the two differ; the first of several. Empty: in none.
std::string_view trait_changed(const ModelTraits& before, const ModelTraits& after);

}  // namespace hostler
