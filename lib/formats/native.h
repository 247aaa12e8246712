// The event stream of contract section 4: each event is a frame by itself, whatever came before.
//
//   id: 17\n
//   data: {"seq":17,"type":"message.delta","data":{"content":"Hi"},"created_at":"2026-…Z"}\n
//   \n
//
// No frame holds an empty line inside. Never reads JSON.
#pragma once

#include "lib/formats/encoder.h"

namespace hostler::formats {

EncoderState begin_native(const RunFacts& run);

}  // namespace hostler::formats
