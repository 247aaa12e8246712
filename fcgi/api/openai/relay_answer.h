// Answers that the relay gives in the pool's stead.
#pragma once

#include <string_view>

#include "fcgi/http/response.h"

namespace hostler {

// nginx sends the request on to the relay, which answers with the run in the wire format
// (lib/formats/formats.cpp), wherever the run is.
Response answered_by_relay(std::string_view run_id, std::string_view wire_format);

}  // namespace hostler
