// GET /v1/openapi.json: the published contract, compiled in.
#include "fcgi/api/handlers.h"
#include "openapi_json.h"

namespace hostler {

Task<Response> show_openapi(OpenCall&) {
  Response response;
  response.status = 200;
  response.content_type = "application/json";
  response.body_view = openapi_json;
  co_return response;
}

}  // namespace hostler
