// Where a URL leads that a tenant wants to store (contract section 5). Called by handlers when it
// is written; what is dialled later is looked up and checked again, whatever was found here.
#pragma once

#include <cstdint>

#include "fcgi/http/handler.h"
#include "lib/http/client_url.h"
#include "lib/loop/task.h"

namespace hostler {

enum class PortsDenied : uint8_t {
  none,
  of_services,  // is_service_port(), except at addresses that the operator allows
};

// True when the host is an address that tenants must not call, or a name all of whose addresses are
// such. A name that does not resolve is not denied. Its caller is known and may write the URL:
// nobody else makes us ask for names.
Task<bool> is_denied_to_tenants(const Call& call, http::HttpUrl url, PortsDenied ports);

}  // namespace hostler
