// /v1/runs/{run_id}/events as far as the pool sees it: HEAD. The streams themselves are served by
// hostler-runner, so a GET that arrives here means that nginx is set up wrongly.
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/services.h"
#include "queries/runs.h"

namespace hostler {

// What the head of the stream would be, for whoever may open it.
Task<Response> served_by_relay(Services& services, Request& request) {
  if (request.method != Method::head) {
    throw Error(ErrorCode::http_bad_gateway,
                "Event streams are served by hostler-runner: the web server must pass this path "
                "to stream.socket (see nginx/hostler.conf).",
                "an event stream was routed to the API pool");
  }
  Params params;
  params.text(request.path_value("run_id"));
  co_await services.query(request, query::run_show, std::move(params));
  Query query(request);
  query.integer("after_seq", {.least = 0});
  query.boolean("follow");
  query.check();
  Response response;
  response.status = 200;
  response.add_header("Content-Type", "text/event-stream");  // without a length: it has none
  response.add_header("X-Accel-Buffering", "no");
  co_return response;
}

}  // namespace hostler
