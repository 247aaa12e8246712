// GET /v1/runs/{run_id}/events reaches the pool only when nginx is set up wrongly: the event
// streams are served by hostler-runner.
#include "fcgi/handlers.h"

namespace hostler {

Task<Response> served_by_relay(Services&, Request&) {
  throw Error(ErrorCode::http_bad_gateway,
              "Event streams are served by hostler-runner: the web server must pass this path to "
              "stream.socket (see nginx/hostler.conf).",
              "an event stream was routed to the API pool");
  co_return Response();  // makes this a coroutine
}

}  // namespace hostler
