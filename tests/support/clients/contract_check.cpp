// Answers held against the contract; see tests/support/clients/contract_check.h.
#include "tests/support/clients/contract_check.h"

#include <algorithm>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "tests/support/clients/openapi_document.h"

namespace hostler::testing_support {
namespace {

using Findings = std::vector<std::string>;

const Json& member(const Json& object, std::string_view name) {
  static const Json nothing;
  const Json* found = object.find(name);
  return found == nullptr ? nothing : *found;
}

std::string_view kind_name(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "boolean";
    case Json::Kind::integer:
      return "integer";
    case Json::Kind::number:
      return "number";
    case Json::Kind::text:
      return "string";
    case Json::Kind::array:
      return "array";
    case Json::Kind::object:
      return "object";
  }
  return "";
}

bool is_of_type(const Json& value, std::string_view type) {
  return kind_name(value) == type || (type == "number" && value.is_integer());
}

bool type_fits(const Json& schema, const Json& value) {
  const Json& type = member(schema, "type");
  if (type.is_text()) return is_of_type(value, *type.as_text());
  if (!type.is_array()) return true;
  return std::any_of(type.as_array()->begin(), type.as_array()->end(),
                     [&](const Json& one) { return is_of_type(value, *one.as_text()); });
}

size_t characters_in(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

const std::regex uuid_v7("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
const std::regex utc_time("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z");

void check_text(const Json& schema, const std::string& text, const std::string& at,
                Findings& found) {
  std::string_view format = schema.text_or("format");
  if (format == "uuid" && !std::regex_match(text, uuid_v7)) found.push_back(at + ": is no UUIDv7");
  if (format == "date-time" && !std::regex_match(text, utc_time)) {
    found.push_back(at + ": is no time in UTC with milliseconds");
  }
  const std::string* pattern = member(schema, "pattern").as_text();
  if (pattern != nullptr && !std::regex_search(text, std::regex(*pattern))) {
    found.push_back(fmt::format("{}: does not match {}", at, *pattern));
  }
  size_t count = characters_in(text);
  bool is_short = static_cast<int64_t>(count) < schema.integer_or("minLength", 0);
  bool is_long = static_cast<int64_t>(count) > schema.integer_or("maxLength", INT64_MAX);
  if (is_short || is_long) found.push_back(fmt::format("{}: has {} characters", at, count));
}

void check_number(const Json& schema, const Json& value, const std::string& at, Findings& found) {
  double number = value.as_number().value_or(0);
  std::optional<double> min = member(schema, "minimum").as_number();
  std::optional<double> max = member(schema, "maximum").as_number();
  if ((min && number < *min) || (max && number > *max)) {
    found.push_back(fmt::format("{}: {} is out of bounds", at, number));
  }
}

void check_value(const Json& given_schema, const Json& value, const std::string& at,
                 Findings& found);

void check_object(const Json& schema, const Json& value, const std::string& at, Findings& found) {
  const Json& properties = member(schema, "properties");
  if (const Json::Array* required = member(schema, "required").as_array()) {
    for (const Json& name : *required) {
      if (value.find(*name.as_text()) == nullptr) {
        found.push_back(fmt::format("{}.{}: is missing", at, *name.as_text()));
      }
    }
  }
  for (const Json::Member& one : *value.as_object()) {
    const Json* property = properties.find(one.first);
    std::string place = at + "." + one.first;
    if (property != nullptr) {
      check_value(*property, one.second, place, found);
    } else if (properties.is_object()) {
      found.push_back(place + ": is not in the document");
    }
  }
}

// Exactly one of several shapes; the faults of the one that names the same constants, if any.
void check_choice(const Json::Array& choices, const Json& value, const std::string& at,
                  Findings& found) {
  for (const Json& choice : choices) {
    Findings tried;
    check_value(choice, value, at, tried);
    if (tried.empty()) return;
  }
  found.push_back(at + ": fits none of the shapes in the document");
}

void check_value(const Json& given_schema, const Json& value, const std::string& at,
                 Findings& found) {
  const Json& schema = resolved(given_schema);
  if (const Json::Array* choices = member(schema, "oneOf").as_array()) {
    check_choice(*choices, value, at, found);
    return;
  }
  if (!type_fits(schema, value)) {
    found.push_back(fmt::format("{}: is {}", at, kind_name(value)));
    return;
  }
  const Json* constant = schema.find("const");
  if (constant != nullptr && constant->dump() != value.dump()) {
    found.push_back(fmt::format("{}: is {}, not {}", at, value.dump(), constant->dump()));
  }
  if (const Json::Array* words = member(schema, "enum").as_array()) {
    bool is_known = std::any_of(words->begin(), words->end(),
                                [&](const Json& word) { return word.dump() == value.dump(); });
    if (!is_known) found.push_back(fmt::format("{}: {} is not in the document", at, value.dump()));
  }
  if (value.is_text()) check_text(schema, *value.as_text(), at, found);
  if (value.as_number()) check_number(schema, value, at, found);
  if (value.is_object()) check_object(schema, value, at, found);
  if (value.is_array()) {
    int place = 0;
    for (const Json& item : *value.as_array()) {
      check_value(member(schema, "items"), item, fmt::format("{}.{}", at, place++), found);
    }
  }
}

// "/v1/threads/" has an empty part more than "/v1/threads".
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= path.size();) {
    size_t slash = std::min(path.find('/', from), path.size());
    parts.push_back(path.substr(from, slash - from));
    from = slash + 1;
  }
  return parts;
}

bool part_fits(std::string_view pattern, std::string_view part) {
  if (!pattern.starts_with('{')) return pattern == part;
  std::string_view verb = pattern.substr(pattern.find('}') + 1);
  if (part.size() <= verb.size() || !part.ends_with(verb)) return false;
  bool has_colon = part.substr(0, part.size() - verb.size()).find(':') != part.npos;
  return !has_colon || pattern == "{model}";
}

// The operation of a call: a path without values goes before one with them.
const Json* operation_of(const Call& call) {
  std::string_view path = std::string_view(call.path).substr(0, call.path.find('?'));
  std::vector<std::string_view> parts = parts_of(path);
  const Json* found = nullptr;
  bool is_literal = false;
  for (const Json::Member& one : *member(openapi_document(), "paths").as_object()) {
    std::vector<std::string_view> pattern = parts_of(one.first);
    bool fits = pattern.size() == parts.size() &&
                std::equal(pattern.begin(), pattern.end(), parts.begin(), part_fits);
    if (!fits || is_literal) continue;
    std::string method = call.method == "HEAD" ? "get" : call.method;
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    found = one.second.find(method);
    is_literal = one.first.find('{') == one.first.npos;
  }
  return found;
}

void check_headers(const Json& response, const Answer& answer, Findings& found) {
  const Json::Object* headers = member(response, "headers").as_object();
  if (headers == nullptr) return;
  for (const Json::Member& one : *headers) {
    std::string name = one.first;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const Json& header = resolved(one.second);
    const bool* required = member(header, "required").as_boolean();
    if (required != nullptr && *required && !answer.has_header(name)) {
      found.push_back("header " + one.first + ": is missing");
    }
    if (answer.has_header(name) && member(header, "schema").text_or("type") == "string") {
      check_text(member(header, "schema"), answer.header(name), "header " + one.first, found);
    }
  }
}

// x-run-codes: of a run that failed, where its answer says so.
void check_code(const Json& response, const std::string& code, Findings& found) {
  if (member(response, "x-codes").as_array() == nullptr) return;
  auto names_it = [&](std::string_view list) {
    const Json::Array* codes = member(response, list).as_array();
    return codes != nullptr && std::any_of(codes->begin(), codes->end(),
                                           [&](const Json& one) { return *one.as_text() == code; });
  };
  if (!names_it("x-codes") && !names_it("x-run-codes"))
    found.push_back(code + ": is not in the document for this status");
}

void check_problem(const Json& response, const Answer& answer, const Json& body, Findings& found) {
  check_value(member(member(member(openapi_document(), "components"), "schemas"), "Problem"), body,
              "", found);
  if (body.integer_or("status", 0) != answer.status) found.push_back("status: differs");
  if (body.text_or("trace_id") != answer.header("x-trace-id")) found.push_back("trace_id: differs");
  std::string code(body.text_or("code"));
  if (body.text_or("type") != "urn:hostler:problem:" + code) found.push_back("type: differs");
  check_code(response, code, found);
}

// Code of an error below /v1/openai. The form itself is in the document.
void check_openai_error(const Json& response, const Answer& answer, Findings& found) {
  if (answer.header("x-request-id") != answer.header("x-trace-id")) {
    found.push_back("x-request-id: is not the trace id");
  }
  check_code(response, error_code_of(answer), found);
}

// Returns what no route has once it is read, and what cannot be read: there is no operation that
// answers.
bool is_before_operations(const Call& call, const Answer& answer) {
  if (call.path.find('%') == std::string::npos) return false;
  std::string code = error_code_of(answer);
  return (answer.status == 404 && code == "http.not_found") ||
         (answer.status == 400 && code == "http.bad_request");
}

const Json& response_of(const Json& operation, int status) {
  const Json& responses = member(operation, "responses");
  const Json* own = responses.find(std::to_string(status));
  return resolved(own == nullptr ? member(responses, "default") : *own);
}

}  // namespace

std::vector<std::string> schema_faults(const Json& schema, const Json& value) {
  Findings found;
  check_value(schema, value, "", found);
  return found;
}

std::vector<std::string> contract_faults(const Call& call, const Answer& answer) {
  Findings found;
  const Json* operation = is_before_operations(call, answer) ? nullptr : operation_of(call);
  static const Json none;
  const Json& response = operation == nullptr ? none : response_of(*operation, answer.status);
  check_headers(response, answer, found);
  if (call.method == "HEAD" || call.method == "OPTIONS") return found;
  std::string type = answer.header("content-type");
  bool is_openai = call.path.starts_with("/v1/openai/");
  if (answer.status >= 400 && type == "application/problem+json" && !is_openai) {
    check_problem(response, answer, answer.json(), found);
    return found;
  }
  if (operation == nullptr) return found;
  if (answer.status >= 400 && is_openai) check_openai_error(response, answer, found);
  const Json* content = member(response, "content").find(type);
  if (content != nullptr) {
    if (type == "application/json")
      check_value(member(*content, "schema"), answer.json(), "", found);
  } else if (!answer.body.empty() || member(response, "content").is_object()) {
    found.push_back("Content-Type \"" + type + "\": is not in the document for this status");
  }
  bool is_promised = member(*operation, "responses").find(std::to_string(answer.status)) != nullptr;
  if (!is_promised) found.push_back("status: is not in the document");
  return found;
}

}  // namespace hostler::testing_support
