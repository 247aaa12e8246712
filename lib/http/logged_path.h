// A request's path as logs may have it. Called for lines of the access log, for denials, and for
// what the pool logs of a request; nginx does the same before (nginx/hostler.conf).
#pragma once

#include <string>
#include <string_view>

namespace hostler::http {

// The path of a target without its query, in which the pattern of the route stands for what is
// secret (the token of an invitation) and for names that clients chose (chats, models, flags,
// tools). Escapes do not hide them.
std::string logged_path(std::string_view target);

}  // namespace hostler::http
