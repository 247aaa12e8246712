// OpenAI's responses, of a run: a stream of numbered events, or, held back, one Response object.
// A turn's text is a message item, its thoughts a reasoning item, a call that is left to the caller
// (run.tool_calls) a function_call item; tools that ran here are not in it.
//
// Text that is made again (is_voiding_event) closes its item as incomplete, and a new one follows;
// the object at the end is without it. The text of a run with a response format is sent
// when it has been validated, and is that of the last turn alone.
//
// A frame's number (sequence_number) is that of FrameNumbers, so that a stream can begin anywhere.
#pragma once

#include "lib/formats/encoder.h"

namespace hostler::formats {

EncoderState begin_openai_response(const RunFacts& run);
// Not streamed: of the request that made it, whose status says why it failed...
EncoderState begin_openai_response_whole(const RunFacts& run);
// ...and of later ones, to which a response that failed is one like others.
EncoderState begin_openai_response_stored(const RunFacts& run);

}  // namespace hostler::formats
