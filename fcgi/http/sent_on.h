// A request whose answer is a run's: nginx sends it on to the relay, in whose hands the answer is
// wherever the run is (nginx/hostler.conf, /_run/).
#pragma once

#include <string_view>

#include "fcgi/http/handler.h"
#include "fcgi/http/response.h"

namespace hostler {

// wire_format: of lib/formats/formats.cpp. thread_id: what the answer names in X-Hostler-Thread;
// empty: nothing.
Response sent_on(std::string_view run_id, std::string_view wire_format,
                 std::string_view thread_id = {});

// Answered by the run that the statement's `item` names, as {run_id}.
OneStatement answered_by_run(postgres::BoundStatement statement, std::string_view wire_format);

}  // namespace hostler
