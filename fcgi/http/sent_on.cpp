// See fcgi/http/sent_on.h.
#include "fcgi/http/sent_on.h"

#include <fmt/format.h>

namespace hostler {

Response sent_on(std::string_view run_id, std::string_view wire_format) {
  Response response;
  response.status = 200;
  response.add_header("X-Accel-Redirect", fmt::format("/_run/{}/{}", run_id, wire_format));
  return response;
}

}  // namespace hostler
