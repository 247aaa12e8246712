// Images of a request: whether the model takes them, and what it gets of each. Called by the model
// turn before a request is made; keeps nothing, so that a run that waits holds no image.
#pragma once

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"

namespace hostler::runner {

// Fills in the images of the request's messages. Waits while a file is being checked. Throws
// RunFailure: runs.input_unsupported when the model takes none, files.not_ready when a check takes
// longer than files.check_seconds, files.refused when a file was refused.
Task<void> load_images(AgentServices& services, const RunParts& parts, ModelRequest& request);

}  // namespace hostler::runner
