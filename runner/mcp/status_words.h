// An HTTP answer that is no message of the protocol, in words for whoever registered the server.
// Pure; what comes is a stranger's.
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
