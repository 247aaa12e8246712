// Where the pool may be carried to: what the operator configured, and nothing else. Pure.
#pragma once

#include <vector>

#include "lib/config/settings.h"
#include "lib/mail/mail_settings.h"
#include "runner/egress/socks_request.h"

namespace hostler::runner {

// The captcha's server while the captcha is on, and the mail server when there is one.
std::vector<SocksTarget> egress_destinations(const config::Settings& settings,
                                             const mail::MailSettings& mail);

}  // namespace hostler::runner
