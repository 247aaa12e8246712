// Whether somebody who is not signed in has passed the captcha, asked of the operator's Turnstile
// server (or one of its shape). Called by handlers of open routes; never when no captcha is set.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/handler.h"
#include "fcgi/http/input.h"
#include "lib/config/settings.h"
#include "lib/loop/task.h"

namespace hostler {

// On when both keys are set; without the secret one nothing could be verified.
bool captcha_is_on(const config::Settings& settings);

// The member cf_turnstile_token, of 2,048 characters at most as its maker says.
std::optional<std::string> read_captcha_token(Fields& fields);

// Returns when the captcha is off or the token is good. Throws auth.captcha_required,
// auth.captcha_invalid, or auth.captcha_unavailable when the server says neither in time.
Task<void> check_captcha(OpenCall& call, std::optional<std::string> token);

}  // namespace hostler
