// See fcgi/api/openai/model_name.h.
#include "fcgi/api/openai/model_name.h"

#include "fcgi/http/persona_id.h"
#include "lib/error.h"
#include "lib/ids.h"

namespace hostler {

ModelName read_model_name(std::string_view model) {
  constexpr std::string_view route_begin = "route:";
  ModelName name;
  if (model.starts_with(route_begin)) {
    std::string_view route_id = model.substr(route_begin.size());
    if (!is_uuid(route_id)) throw Error(ErrorCode::runs_unknown_route);
    name.route_id = route_id;
  } else {
    if (!is_persona_id(model)) throw Error(ErrorCode::runs_unknown_persona);
    name.persona_id = model;
  }
  return name;
}

}  // namespace hostler
