// The answer of a passkey, verified with the key that the database has. Called by the handlers of
// logins and of POST /v1/auth/confirm.
#pragma once

#include <string>
#include <string_view>

#include "fcgi/http/handler.h"
#include "lib/account/webauthn.h"
#include "lib/json.h"
#include "lib/loop/task.h"

namespace hostler {

// The answer as SQL's passkey_taken() reads it, right or not. challenge: what it must be of
// (base64url); empty: the database knows the challenges that were given out.
Task<std::string> passkey_answer_json(OpenCall& call, Json credential, std::string challenge,
                                      account::UserVerification verification);

}  // namespace hostler
