// Describes an HTTP answer that is not a message of the protocol, for the person who registered the
// server. Pure; the input comes from a stranger.
#pragma once

#include <string>
#include <string_view>

#include "lib/http/client.h"

namespace hostler::runner {

// url: what was asked. The status, with what the server said in a short text; of a redirect the
// address to enter instead.
std::string words_of_status(const http::HttpHead& head, std::string_view url,
                            std::string_view body);

}  // namespace hostler::runner
