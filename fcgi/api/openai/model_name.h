// Names of models for clients of OpenAI's API (contract section 11): a persona, as `normal@1` or by
// its key alone, or `route:` and a route's id.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler {

// One of the two.
struct ModelName {
  std::optional<std::string> persona_id;
  std::optional<std::string> route_id;
};

// Throws the 404 of a model that nothing can be called.
ModelName read_model_name(std::string_view model);

}  // namespace hostler
