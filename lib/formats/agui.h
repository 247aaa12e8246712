// AG-UI 1.0, of a run: its text, reasoning and tool calls as the events of that protocol. What is
// one run here is several there, one for each request: it ends where the client has to answer, by a
// result for a call of its own or by what resumes an interrupt, and the next one goes on behind it.
//
// facts (runs.client_facts, before it the newest runs.client_answer): {threadId, runId} as the
// client named both, {tools: [names of those it declared]}. A call of these is shown when the
// client is asked for its result, since it makes every call that it is shown and that has none.
//
// What was sent cannot be taken back: when a turn is done again (run.resumed, output.repair) behind
// text that was sent, the stream ends with RUN_ERROR. Of a run with a response format a turn's text
// is sent when it is known to count.
#pragma once

#include <string>

#include "lib/error.h"
#include "lib/formats/encoder.h"

namespace hostler::formats {

EncoderState begin_agui(const RunFacts& run);
std::string agui_error_frames(const Error& error);

}  // namespace hostler::formats
