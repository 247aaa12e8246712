// See fcgi/http/sent_on.h.
#include "fcgi/http/sent_on.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/json.h"

namespace hostler {

Response sent_on(std::string_view run_id, std::string_view wire_format,
                 std::string_view thread_id) {
  Response response;
  response.status = 200;
  std::string place = fmt::format("/_run/{}/{}", run_id, wire_format);
  if (!thread_id.empty()) place.append("/").append(thread_id);
  response.add_header("X-Accel-Redirect", std::move(place));
  return response;
}

OneStatement answered_by_run(postgres::BoundStatement statement, std::string_view wire_format) {
  return {std::move(statement), [wire_format](const postgres::Result& result) {
            std::optional<Json> made = parse_json_or_nothing(result.front().text("item"));
            return sent_on(made ? made->text_or("run_id") : "", wire_format);
          }};
}

}  // namespace hostler
