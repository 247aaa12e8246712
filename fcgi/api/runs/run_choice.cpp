// See fcgi/api/runs/run_choice.h.
#include "fcgi/api/runs/run_choice.h"

#include "fcgi/http/persona_id.h"

namespace hostler {

RunChoice read_run_choice(Fields& fields) {
  RunChoice choice;
  choice.route_id = fields.nullable_id("route_id").value;
  choice.persona_id =
      fields.nullable_text("persona_id", {.max = persona_key_max + 1 + persona_version_max}).value;
  if (choice.persona_id == "") choice.persona_id.reset();  // the default (contract section 4)
  if (choice.persona_id && !is_persona_id(*choice.persona_id)) {
    fields.fault("persona_id", "bad_format", "must be persona_key or persona_key@version");
  }
  return choice;
}

}  // namespace hostler
