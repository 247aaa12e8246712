// The models of LLM providers, and what a run may name as its route. Statements:
// sql/queries/llm_catalog.sql.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/json.h"
#include "queries/llm_catalog.h"

namespace hostler {
namespace {

constexpr TextBounds name_bounds{.min = 1, .max = 200, .trims = true, .is_name = true};
constexpr Bounds context_bounds{1024, 100'000'000};
// Limit for an organization's own model (contract section 4).
constexpr Bounds own_context_bounds{1024, 2'000'000};
constexpr NumberBounds price_bounds{0, 1'000'000};
constexpr NumberBounds multiplier_bounds{0, 1000};
constexpr Bounds output_bounds{1, 10'000'000};
constexpr int64_t context_tokens_default = 128'000;
constexpr std::array<std::string_view, 3> input_types{"text", "image", "pdf"};

constexpr std::array price_names{"input_usd_per_mtok", "output_usd_per_mtok",
                                 "cache_read_usd_per_mtok", "cache_write_usd_per_mtok"};

// text, which every model takes, and any of the others, each once.
void read_input_types(Fields& fields, bool is_new, JsonWriter& json) {
  std::optional<std::vector<std::string>> given =
      fields.optional_texts("input_types", input_types.size(), {.min = 1, .max = 16});
  if (!given && !is_new) return;
  std::vector<std::string> types = given.value_or(std::vector<std::string>{"text"});
  auto count = [&types](std::string_view type) {
    return std::count(types.begin(), types.end(), type);
  };
  size_t known = 0;
  for (std::string_view type : input_types) known += count(type) == 1 ? 1 : 0;
  if (count("text") != 1 || known != types.size()) {
    fields.fault("input_types", "bad_format", "must contain text, and may contain image and pdf");
  }
  json.key("input_types").begin_array();
  for (const std::string& type : types) json.text(type);
  json.end_array();
}

// The members besides the name; a new model gets defaults for what is absent.
void read_members(const Input& input, Fields& fields, bool is_new, JsonWriter& json) {
  std::optional<bool> is_default = fields.optional_boolean("is_default");
  if (is_default || is_new) json.member("is_default", is_default.value_or(false));
  std::optional<int64_t> context = fields.optional_integer(
      "context_tokens", input.is_org_scope() ? own_context_bounds : context_bounds);
  if (context || is_new) {
    json.member("context_tokens", context.value_or(context_tokens_default));
  }
  for (const char* name : price_names) {
    std::optional<double> price = fields.optional_number(name, price_bounds);
    if (price || is_new) json.member(name, price.value_or(0.0));
  }
  std::optional<double> multiplier = fields.optional_number("multiplier", multiplier_bounds);
  if (multiplier || is_new) json.member("multiplier", multiplier.value_or(1.0));
  Nullable<int64_t> output = fields.nullable_integer("max_output_tokens", output_bounds);
  if (output.value) {
    json.member("max_output_tokens", *output.value);
  } else if (output.is_given) {
    json.key("max_output_tokens").null();
  }
  read_input_types(fields, is_new, json);
}

}  // namespace

OneStatement list_llm_models(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input,
                             query::LlmModelPage{.provider_id = input.path_value("provider_id"),
                                                 .limit = page.limit,
                                                 .before = page.before},
                             {.limit = page.limit});
}

OneStatement create_llm_model(const Input& input) {
  Fields fields = input.body();
  JsonWriter wanted;
  wanted.begin_object().member("model", fields.required_text("model", name_bounds));
  read_members(input, fields, true, wanted);
  wanted.end_object();
  fields.check();
  return OneStatement::row(
      query::LlmModelCreate{.provider_id = input.path_value("provider_id"),
                            .wanted = wanted.take(),
                            .limit_llm_models = input.settings.integer("limit.llm_models")},
      201);
}

OneStatement update_llm_model(const Input& input) {
  Fields fields = input.body();
  JsonWriter changes;
  changes.begin_object();
  std::optional<std::string> name = fields.optional_text("model", name_bounds);
  if (name) changes.member("model", *name);
  read_members(input, fields, false, changes);
  changes.end_object();
  fields.check_patch();
  return OneStatement::row(query::LlmModelUpdate{.provider_id = input.path_value("provider_id"),
                                                 .model_id = input.path_value("model_id"),
                                                 .changes = changes.take()});
}

OneStatement delete_llm_model(const Input& input) {
  return OneStatement::no_content(query::LlmModelDelete{
      .provider_id = input.path_value("provider_id"), .model_id = input.path_value("model_id")});
}

OneStatement list_models(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input,
                             query::ModelChoicePage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

}  // namespace hostler
