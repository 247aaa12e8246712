// Learned facts about a model, as its row keeps them (llm_models.learned) and as clients see them.
#pragma once

#include <string>
#include <string_view>

#include "runner/models/model.h"

namespace hostler {

// {"origin", "token_limit", "no_stream_options": true, …, "context_tokens"}: what differs from
// ModelTraits(). origin: who it was learned of (origin_of).
std::string traits_json(const ModelTraits& traits, std::string_view origin);
// Returns nothing known if it was learned from another origin, or has another form.
ModelTraits traits_from(std::string_view json, std::string_view origin);

}  // namespace hostler
