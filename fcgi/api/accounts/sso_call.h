// Waits for what a daemon finds out about an identity provider (runner/sso_calls.h). Used by the
// handlers of logins with providers, and of providers.
#pragma once

#include <string>

#include "fcgi/http/handler.h"
#include "lib/json.h"
#include "lib/loop/task.h"

namespace hostler {

// The stored result: {found}, {claims} or {fault}. Throws 503 when no daemon began in time, and 504
// when none ended. The call was stored, and is committed.
Task<Json> sso_call_result(OpenCall& call, std::string call_id);

// The address of this site without a slash at its end, to which providers send browsers back.
// Throws 503 when the operator has not set it.
std::string sso_site(const config::Settings& settings);

}  // namespace hostler
