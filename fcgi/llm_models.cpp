// The models of LLM providers, and what a run may name as its route. Statements:
// sql/queries/llm_catalog.sql.
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "lib/json.h"
#include "queries/llm_catalog.h"

namespace hostler {
namespace {

constexpr TextBounds name_bounds{.least = 1, .most = 200, .trims = true};
constexpr Bounds context_bounds{1024, 100'000'000};
constexpr NumberBounds price_bounds{0, 1'000'000};
constexpr NumberBounds multiplier_bounds{0, 1000};
constexpr int64_t context_tokens_default = 128'000;

constexpr std::array price_names{"input_usd_per_mtok", "output_usd_per_mtok",
                                 "cache_read_usd_per_mtok", "cache_write_usd_per_mtok"};

// The members besides the name; a new model gets defaults for what is absent.
void read_members(Fields& fields, bool is_new, JsonWriter& json) {
  std::optional<bool> is_default = fields.optional_boolean("is_default");
  if (is_default || is_new) json.member("is_default", is_default.value_or(false));
  std::optional<int64_t> context = fields.optional_integer("context_tokens", context_bounds);
  if (context || is_new) {
    json.member("context_tokens", context.value_or(context_tokens_default));
  }
  for (const char* name : price_names) {
    std::optional<double> price = fields.optional_number(name, price_bounds);
    if (price || is_new) json.member(name, price.value_or(0.0));
  }
  std::optional<double> multiplier = fields.optional_number("multiplier", multiplier_bounds);
  if (multiplier || is_new) json.member("multiplier", multiplier.value_or(1.0));
}

}  // namespace

Task<Response> list_llm_models(Services& services, Request& request) {
  return list_page(services, request, query::llm_model_page,
                   Params().text(request.path_value("provider_id")));
}

Task<Response> create_llm_model(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  JsonWriter wanted;
  wanted.begin_object().member("model", fields.required_text("model", name_bounds));
  read_members(fields, true, wanted);
  wanted.end_object();
  fields.check();
  Params params;
  params.text(request.path_value("provider_id")).text(wanted.take());
  Result made = co_await services.query(request, query::llm_model_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> update_llm_model(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  JsonWriter changes;
  changes.begin_object();
  std::optional<std::string> name = fields.optional_text("model", name_bounds);
  if (name) changes.member("model", *name);
  read_members(fields, false, changes);
  changes.end_object();
  fields.check_patch();
  Params params;
  params.text(request.path_value("provider_id")).text(request.path_value("model_id"));
  params.text(changes.take());
  Result changed = co_await services.query(request, query::llm_model_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

Task<Response> delete_llm_model(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("provider_id")).text(request.path_value("model_id"));
  co_await services.query(request, query::llm_model_delete, std::move(params));
  co_return Response::no_content();
}

Task<Response> list_models(Services& services, Request& request) {
  return list_page(services, request, query::model_choice_page);
}

}  // namespace hostler
