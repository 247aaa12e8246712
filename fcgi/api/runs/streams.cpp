// /v1/runs/{run_id}/events as far as the pool sees it. The streams are served by hostler-runner:
// nginx knows their path when it is written plainly, and only the pool when it is in percent
// escapes.
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"

namespace hostler {

// Sends the request on to hostler-runner; a web server that does not know how shows the problem.
OneStatement served_by_relay(const Input&) {
  Error error(ErrorCode::http_bad_gateway,
              "Event streams are served by hostler-runner: the web server must pass this path "
              "to stream.socket (see nginx/hostler.conf).",
              "an event stream was routed to the API pool");
  error.headers.emplace_back("X-Accel-Redirect", "/_stream");
  throw error;
}

}  // namespace hostler
