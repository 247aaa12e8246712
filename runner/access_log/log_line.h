// One line of nginx's access log as a row of the table, as JSON (sql: access_log_append). What the
// programs noted about a request counts; of a request that nginx answered alone, address and risk
// are found here, by the same rules.
#pragma once

#include <string_view>

#include "lib/client/gateway.h"
#include "lib/json.h"
#include "runner/access_log/geo_lookup.h"

namespace hostler::runner {

// False, and nothing written, when the line is not as nginx/hostler.conf writes it.
bool write_log_entry(std::string_view line, const client::Gateway& gateway, const GeoLookup& geo,
                     JsonWriter& entries);

}  // namespace hostler::runner
