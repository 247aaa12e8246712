// Trace ids that come from outside (W3C Trace Context). Who may send one is for lib/client/gateway
// to say.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler::client {

// The trace-id of a traceparent header field: version-traceid-parentid-flags in lower-case hex, of
// version 00 or one to come. Nothing when it is malformed or all zero (sections 3.2.2 and 3.2.3).
std::optional<std::string> trace_id_of(std::string_view traceparent);

// Trace context of an outgoing call: the same trace under a new parent-id, sampled.
std::string traceparent_of(std::string_view trace_id);

}  // namespace hostler::client
