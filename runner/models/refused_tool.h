// Which tool of a request a provider refuses. Providers check the schema of each tool and refuse
// the whole request for one; what runner/models/tool_schema.h cannot know of, they name. Called by
// the model client; pure.
#pragma once

#include <optional>

#include "runner/models/model.h"
#include "runner/models/provider_error.h"

namespace hostler {

// The tool that the refusal names, by its name or its place, with the provider's words as the
// reason. Nothing: it names none, or one that the model must call.
std::optional<ToolRefusal> refused_tool(int status, const ProviderError& error,
                                        const ModelRequest& request);

}  // namespace hostler
