// Answers of an app to calls of its function tools. Statements: sql/queries/runs.sql.
#include <set>

#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "fcgi/api/runs/function_tools.h"
#include "fcgi/http/input.h"
#include "lib/config/result_token.h"
#include "queries/runs.h"

namespace hostler {
namespace {

constexpr size_t results_max = 10'000;  // as many calls as a run may make
constexpr TextBounds code_bounds{.min = 1, .bytes_max = 128, .takes_control = true};
// The whole error names the maximum length.
constexpr TextBounds message_bounds{.max = TextBounds::body_text_bytes_max, .takes_control = true};

void check_size(Fields& entry, std::string_view name, const std::string& json) {
  if (json.size() <= tool_output_bytes_max) return;
  entry.fault(name, "too_long",
              fmt::format("must have at most {} bytes as compact JSON", tool_output_bytes_max));
}

// {code, message}, in the form for the model.
void read_error(Fields& entry, JsonWriter& json) {
  std::optional<Fields> error = entry.nullable_object("error").value;
  if (!error) return;
  std::string code = error->required_text("code", code_bounds);
  std::string message = error->required_text("message", message_bounds);
  JsonWriter kept;
  kept.begin_object().member("code", code).member("message", message).end_object();
  std::string text = kept.take();
  check_size(entry, "error", text);
  json.member_raw("error", text);
}

// output or error, one of the two; a null beside the other one does not count.
void read_entry(Fields& entry, const std::string& id, JsonWriter& json) {
  const Json* output = entry.any("output");
  const Json* error = entry.any("error");
  bool is_error = error != nullptr && !error->is_null();
  json.begin_object().member("tool_call_id", id);
  if (is_error && output != nullptr && !output->is_null()) {
    entry.fault("error", "bad_format", "must not be given beside output");
  } else if (is_error) {
    read_error(entry, json);
  } else if (!entry.has("output")) {
    entry.fault("output", "required", "output or error is required");
  } else {
    std::string text = output == nullptr ? "null" : output->dump();
    check_size(entry, "output", text);
    json.member_raw("output", text);
  }
  json.end_object();
}

// Reads a valid body: the results as an array in its order, and their calls.
struct Results {
  std::string json;
  std::set<std::string> tool_call_ids;
};

Results read_results(const Input& input) {
  Fields fields = input.body();
  std::vector<Fields> entries = fields.optional_objects("results", results_max);
  const Json* given = fields.any("results");
  if (given == nullptr) {
    fields.fault("results", "required", "is required");
  } else if (given->is_array() && given->as_array()->empty()) {
    fields.fault("results", "too_short", "must have at least 1 item");
  }
  Results results;
  JsonWriter json;
  json.begin_array();
  for (Fields& entry : entries) {
    std::string id = entry.required_text("tool_call_id", {.min = 1, .max = 256});
    if (!id.empty() && !results.tool_call_ids.insert(id).second) {
      entry.fault("tool_call_id", "duplicate", "already has a result in this body");
    }
    read_entry(entry, id, json);
  }
  json.end_array();
  fields.check();
  results.json = json.take();
  return results;
}

}  // namespace

OneStatement answer_tool_calls(const Input& input) {
  Results results = read_results(input);
  std::string run_id(input.path_value("run_id"));
  return OneStatement::row(query::RunToolAnswer{.run_id = run_id, .results = results.json})
      .notify(query::RunNotify{})
      .notify(query::RunControlNotify{.run_ids = std::vector{run_id}});
}

OneStatement answer_tool_call_by_token(const Input& input) {
  std::string run_id(input.path_value("run_id"));
  std::optional<std::string> call =
      config::call_of_result_token(input.secret_box, run_id, input.request().authorization);
  if (!call) {
    throw Error(ErrorCode::auth_invalid_token, "This is not a result_token of a call of this run.");
  }
  Results results = read_results(input);
  if (results.tool_call_ids != std::set{*call}) {
    throw Error(ErrorCode::auth_invalid_token,
                fmt::format("This result_token is only for the call {}.", *call));
  }
  // The one in the array.
  std::string result = results.json.substr(1, results.json.size() - 2);
  return OneStatement::row(
             query::RunToolAnswerByToken{.run_id = run_id, .tool_call_id = *call, .result = result})
      .notify(query::RunNotify{})
      .notify(query::RunControlNotify{.run_ids = std::vector{run_id}});
}

}  // namespace hostler
