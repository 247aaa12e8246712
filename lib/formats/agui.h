// AG-UI 1.0: text, reasoning and tool calls of a run as events of that protocol. One run here is
// several runs there, one for each request. A run there ends where the client has to answer, by a
// result for a call of its own or by resuming an interrupt. The next one continues after that.
//
// facts (runs.client_facts, before it the newest runs.client_answer): {threadId, runId} as the
// client named both, {tools: [names of those it declared]}. A call of these is shown when the
// client is asked for its result, since it makes every call that it is shown and that has none.
//
// Sent text cannot be taken back. If a turn is done again (is_voiding_event) after text was sent,
// the stream ends with RUN_ERROR. With a response format the text of a turn is sent when
// it is known to count.
#pragma once

#include <string>

#include "lib/error.h"
#include "lib/formats/encoder.h"

namespace hostler::formats {

EncoderState begin_agui(const RunFacts& run);
std::string agui_error_frames(const Error& error);

}  // namespace hostler::formats
