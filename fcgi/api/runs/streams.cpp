// /v1/runs/{run_id}/events as far as the pool sees it: HEAD. The streams themselves are served by
// hostler-runner, so a GET that arrives here means that nginx is set up wrongly.
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "queries/runs.h"

namespace hostler {

// What the head of the stream would be, for whoever may open it.
OneStatement served_by_relay(const Input& input) {
  if (input.request().method != Method::head) {
    throw Error(ErrorCode::http_bad_gateway,
                "Event streams are served by hostler-runner: the web server must pass this path "
                "to stream.socket (see nginx/hostler.conf).",
                "an event stream was routed to the API pool");
  }
  QueryFields fields = input.query();
  fields.integer("after_seq", {.min = 0});
  fields.boolean("follow");
  return {query::RunShow{.run_id = input.path_value("run_id")},
          [fields](const postgres::Result&) mutable {
            fields.check();
            Response response;
            response.status = 200;
            // Without a length: it has none.
            response.add_header("Content-Type", "text/event-stream");
            response.add_header("X-Accel-Buffering", "no");
            return response;
          }};
}

}  // namespace hostler
