// Where a URL leads that a tenant wants to store (contract section 5). Called by handlers when it
// is written; what is dialled later is looked up and checked again, whatever was found here.
#pragma once

#include <string_view>

#include "lib/config/settings.h"
#include "lib/http/client_url.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"

namespace hostler {

// Whether a URL can be asked for as it is written: every character of it stands in a request line,
// and its host is an address or may be a name.
bool has_sound_form(std::string_view written, const http::HttpUrl& url);

// True when the host is an address that tenants must not call, or a name all of whose addresses are
// such, or the port is one of services (is_service_port()); what outbound.allow_cidrs names is not
// denied. A name that does not resolve is denied for its port alone. Its caller is known and may
// write the URL: nobody else makes us ask for names.
Task<bool> is_denied_to_tenants(loop::Loop& loop, const config::Settings& settings,
                                http::HttpUrl url);

// True when the host is an address, or a name all of whose addresses are such, that
// outbound.allow_cidrs names: operators vouch for the way there. Of a name that does not resolve
// nobody does.
Task<bool> is_allowed_by_name(loop::Loop& loop, const config::Settings& settings,
                              http::HttpUrl url);

}  // namespace hostler
