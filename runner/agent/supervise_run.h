// Runs the agent loop of one run and writes how it ended: the daemon's only catch. The run's own
// coroutine never writes an outcome; when it is cancelled, end_cancelled does.
#pragma once

#include "runner/agent/agent_loop.h"

namespace hostler::runner {

// From claim to outcome on disk, to a wait for a human, or to the loss of the run. False: something
// broke so that not even its outcome could be written; it is still ours, and is to be given up.
// Throws nothing.
Task<bool> supervise_run(AgentServices& services, RunPtr run);

// Writes run.cancelled with what was streamed so far. The run's supervising task is gone already.
// False as above.
Task<bool> end_cancelled(AgentServices& services, RunPtr run);

}  // namespace hostler::runner
