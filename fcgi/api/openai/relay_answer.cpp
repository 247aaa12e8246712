// See fcgi/api/openai/relay_answer.h.
#include "fcgi/api/openai/relay_answer.h"

#include <fmt/format.h>

namespace hostler {

Response answered_by_relay(std::string_view run_id, std::string_view wire_format) {
  Response response;
  response.status = 200;
  response.add_header("X-Accel-Redirect", fmt::format("/_run/{}/{}", run_id, wire_format));
  return response;
}

}  // namespace hostler
