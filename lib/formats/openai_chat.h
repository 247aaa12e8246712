// OpenAI's chat completions, of a run: a stream of chat.completion.chunk objects, or, held back,
// one chat.completion. Tools that ran here are not in it: the text of all turns is one message.
// Calls that are left to the caller come with the event run.tool_calls.
//
// A stream cannot take back what it sent. If a turn is done again (is_voiding_event) after text was
// sent, it ends with an error. The text of a run with a response format is sent when it has been
// validated. It is that of the last turn alone, and no text stands beside calls.
#pragma once

#include "lib/formats/encoder.h"

namespace hostler::formats {

EncoderState begin_openai_chat(const RunFacts& run);
EncoderState begin_openai_chat_usage(const RunFacts& run);  // stream_options.include_usage
EncoderState begin_openai_chat_whole(const RunFacts& run);  // not streamed

}  // namespace hostler::formats
