// The personas and routes that a caller may name, as OpenAI's clients know models. Statements:
// sql/queries/openai_models.sql.
#include "fcgi/api/handlers.h"
#include "fcgi/api/openai/model_name.h"
#include "queries/openai_models.h"

namespace hostler {

OneStatement list_openai_models(const Input&) {
  return OneStatement::row(query::OpenaiModelList{});
}

OneStatement show_openai_model(const Input& input) {
  ModelName name = read_model_name(input.path_value("model"));
  return OneStatement::row(
      query::OpenaiModelShow{.persona_id = name.persona_id, .route_id = name.route_id});
}

}  // namespace hostler
