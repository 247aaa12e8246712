// Requests by chance; see tests/support/clients/openapi_cases.h.
#include "tests/support/clients/openapi_cases.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/http/request_target.h"
#include "tests/support/clients/openapi_document.h"

namespace hostler::testing_support {
namespace {

constexpr const char* nobodys_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";

void take_parameters(const Json& holder, std::vector<const Json*>& parameters) {
  const Json* list = holder.find("parameters");
  if (list == nullptr) return;
  for (const Json& parameter : *list->as_array()) parameters.push_back(&resolved(parameter));
}

const Json& schema_of(const Json& holder) {
  static const Json any;
  const Json* schema = holder.find("schema");
  return schema == nullptr ? any : resolved(*schema);
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::vector<Operation> documented_operations() {
  std::vector<Operation> all;
  for (const auto& [path, item] : *openapi_document().find("paths")->as_object()) {
    for (const char* method : {"get", "post", "put", "patch", "delete"}) {
      const Json* operation = item.find(method);
      if (operation == nullptr || path.ends_with("/events")) continue;
      Operation made{upper(method), path, operation, {}};
      take_parameters(item, made.parameters);
      take_parameters(*operation, made.parameters);
      all.push_back(std::move(made));
    }
  }
  return all;
}

CaseMaker::CaseMaker(unsigned seed, std::map<std::string, std::string> ids)
    : random_(seed), ids_(std::move(ids)) {}

bool CaseMaker::chance(int percent) { return below(100) < static_cast<size_t>(percent); }

size_t CaseMaker::below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

Call CaseMaker::make(const Operation& operation) {
  bool is_wild = chance(50);
  Call call;
  call.method = operation.method == "GET" && chance(5) ? "HEAD" : operation.method;
  call.path = path_of(operation, is_wild) + query_of(operation, is_wild);
  call.content_type.clear();
  if (operation.takes_body()) {
    call.body = body_of(operation, is_wild);
    call.content_type = is_wild && chance(5) ? "text/plain" : media_type_of(operation);
  } else if (is_wild && chance(10)) {
    call.body = "{}";
    call.content_type = "application/json";
  }
  for (const Json* parameter : operation.parameters) {
    if (parameter->text_or("in") != "header" || !chance(20)) continue;
    std::string name(parameter->text_or("name"));
    std::string field = name == "X-Org-Id" ? ids_["org_id"] : fmt::format("key-{}", random_());
    if (is_wild && chance(50)) field = chance(50) ? std::string(300, 'k') : "%00 \"x\"";
    call.headers.emplace_back(name, field);
  }
  return call;
}

std::string CaseMaker::path_of(const Operation& operation, bool is_wild) {
  std::string path = operation.path;
  for (size_t open = path.find('{'); open != path.npos; open = path.find('{', open)) {
    size_t close = path.find('}', open);
    std::string name = path.substr(open + 1, close - open - 1);
    auto found = ids_.find(name);
    std::string value = found == ids_.end() ? nobodys_id : found->second;
    if (chance(10)) value = nobodys_id;
    if (is_wild && chance(10)) value = http::percent_encoded(odd_text().substr(0, 1500));
    if (value.empty()) value = "%20";
    path.replace(open, close - open + 1, value);
    open += value.size();
  }
  return path;
}

std::string CaseMaker::query_of(const Operation& operation, bool is_wild) {
  std::string query;
  for (const Json* parameter : operation.parameters) {
    const bool* required = parameter->find("required") == nullptr
                               ? nullptr
                               : parameter->find("required")->as_boolean();
    bool is_needed = required != nullptr && *required && !is_wild;
    if (parameter->text_or("in") != "query" || !(is_needed || chance(40))) continue;
    std::string_view name = parameter->text_or("name");
    Json made = value(schema_of(*parameter), name, 0);
    if (is_wild && chance(40)) made = odd_value();
    std::string written = made.is_text() ? *made.as_text() : made.dump();
    query += fmt::format("{}{}={}", query.empty() ? "?" : "&", name,
                         http::percent_encoded(std::string_view(written).substr(0, 1500)));
    if (is_wild && chance(5)) query += fmt::format("&{}=x", name);
  }
  return is_wild && chance(3) ? query + (query.empty() ? "?" : "&") + "a=%zz" : query;
}

std::string CaseMaker::media_type_of(const Operation& operation) const {
  const Json& body = resolved(*operation.operation->find("requestBody"));
  const Json& content = *body.find("content");
  if (content.find("application/json") != nullptr) return "application/json";
  return content.as_object()->front().first;
}

std::string CaseMaker::body_of(const Operation& operation, bool is_wild) {
  const Json& body = resolved(*operation.operation->find("requestBody"));
  const Json* content = body.find("content")->find("application/json");
  if (content == nullptr) return odd_text();  // forms have tests of their own
  Json made = value(schema_of(*content), "", 0);
  if (!is_wild) return made.dump();
  for (size_t i = 0; i <= below(3); ++i) spoil(made);
  std::string json = made.dump();
  return chance(25) ? spoil_text(std::move(json)) : json;
}

Json CaseMaker::value(const Json& given_schema, std::string_view name, int depth) {
  const Json& schema = resolved(given_schema);
  if (const Json* constant = schema.find("const")) return *constant;
  if (const Json* words = schema.find("enum")) {
    return (*words->as_array())[below(words->as_array()->size())];
  }
  std::string type(schema.text_or("type"));
  if (const Json* types = schema.find("type"); types != nullptr && types->is_array()) {
    type = *(*types->as_array())[below(types->as_array()->size())].as_text();
  }
  if (type == "null") return Json();
  if (type == "boolean") return Json(chance(50));
  if (type == "integer" || type == "number") return number(schema);
  if (type == "object") return object(schema, depth);
  if (type != "array") return Json(text(schema, name));
  Json::Array items;
  const Json* item = schema.find("items");
  size_t min = static_cast<size_t>(schema.integer_or("minItems", 0));
  size_t count = min + below(3);
  for (size_t i = 0; i < count && depth < 4; ++i) {
    items.push_back(item == nullptr ? odd_value() : value(*item, name, depth + 1));
  }
  return Json(std::move(items));
}

Json CaseMaker::object(const Json& schema, int depth) {
  Json::Object members;
  const Json* properties = schema.find("properties");
  const Json* required = schema.find("required");
  if (properties == nullptr || depth > 4) return Json(std::move(members));
  for (const auto& member : *properties->as_object()) {
    const std::string& name = member.first;
    bool is_needed = required != nullptr &&
                     std::any_of(required->as_array()->begin(), required->as_array()->end(),
                                 [&](const Json& one) { return *one.as_text() == name; });
    if (!is_needed && !chance(50)) continue;
    members.emplace_back(name, value(member.second, name, depth + 1));
  }
  return Json(std::move(members));
}

std::string CaseMaker::text(const Json& schema, std::string_view name) {
  std::string_view format = schema.text_or("format");
  const Json* examples = schema.find("examples");
  if (auto known = ids_.find(std::string(name)); known != ids_.end() && chance(70)) {
    return known->second;
  }
  if (format == "uuid") return nobodys_id;
  if (format == "email") return fmt::format("somebody-{}@example.org", random_());
  if (format == "uri") return chance(80) ? "https://93.184.215.14/x" : "http://127.0.0.1:1/";
  if (format == "date-time") {
    return fmt::format("20{:02}-{:02}-{:02}T12:00:00{}", below(100), 1 + below(12), 1 + below(28),
                       chance(50) ? "Z" : "+05:30");
  }
  if (format == "date") return fmt::format("20{:02}-{:02}-28", below(100), 1 + below(12));
  bool has_example = examples != nullptr && !examples->as_array()->empty();
  if (has_example && (schema.find("pattern") != nullptr || chance(50))) {
    const Json& example = (*examples->as_array())[below(examples->as_array()->size())];
    // Names must be new more often than not.
    bool is_name = schema.find("pattern") != nullptr && example.is_text() && chance(50);
    if (example.is_text()) {
      return is_name ? fmt::format("{}{}", *example.as_text(), below(1000)) : *example.as_text();
    }
  }
  if (schema.find("pattern") != nullptr) return fmt::format("n{}", random_());
  return text_of_length(schema);
}

std::string CaseMaker::text_of_length(const Json& schema) {
  size_t min = static_cast<size_t>(schema.integer_or("minLength", 0));
  size_t max = static_cast<size_t>(std::min<int64_t>(schema.integer_or("maxLength", 40), 5000));
  size_t length = chance(10) ? max : chance(10) ? min : min + below(20);
  length = std::clamp(length, min, std::max(min, max));
  std::string made;
  constexpr std::string_view signs[] = {"a",  "Z", "0", " ", "'",  "\"",
                                        "\\", "%", "_", "é", "漢", "😀"};
  while (length-- > 0) made += chance(70) ? "x" : signs[below(std::size(signs))];
  return made;
}

Json CaseMaker::number(const Json& schema) {
  const Json* min = schema.find("minimum");
  const Json* max = schema.find("maximum");
  double low = min == nullptr ? -1000 : min->as_number().value_or(0);
  double high = max == nullptr ? low + 100'000 : max->as_number().value_or(0);
  double at = chance(15)   ? low
              : chance(15) ? high
                           : low + (high - low) * 1e-6 * double(below(1'000'000));
  bool is_integer = schema.text_or("type") != "number";
  if (!is_integer) return Json(at);
  return at >= 9.2e18 ? Json(INT64_MAX) : at <= -9.2e18 ? Json(INT64_MIN) : Json(int64_t(at));
}

std::string CaseMaker::odd_text() {
  static const std::vector<std::string> odd = {"",
                                               " ",
                                               "x",
                                               "null",
                                               "-1",
                                               "0",
                                               "1e999",
                                               "NaN",
                                               "'; --",
                                               "\"",
                                               "\\",
                                               "../..",
                                               "a/b",
                                               "a:cancel",
                                               "%",
                                               "%_%",
                                               "\x01",
                                               "\n",
                                               "\t",
                                               "\x7f",
                                               "\u202e",
                                               "\ufeff",
                                               "\U0001F600",
                                               "ﬀ",
                                               "İ",
                                               "00000000-0000-0000-0000-000000000000",
                                               "01A1FA43-8DCD-7506-AB81-EF7A33B2BE1A",
                                               "9223372036854775808",
                                               "2026-02-30",
                                               "2026-11-20",
                                               "0001-01-01T00:00:00+23:59",
                                               "9999-12-31T23:59:59-23:59",
                                               "2026-06-30T23:59:60Z",
                                               "0.0.0.0/0",
                                               "::/0",
                                               "::ffff:1.2.3.4",
                                               "1.2.3.4/33",
                                               "http://[::1]/",
                                               "https://a@b/",
                                               "a@b",
                                               "@",
                                               "<script>",
                                               "{{x}}",
                                               "$1",
                                               "{1,2}",
                                               "[1,3)",
                                               "infinity",
                                               "now",
                                               "epoch"};
  if (chance(5)) return std::string(1 + below(70'000), 'l');
  return odd[below(odd.size())];
}

Json CaseMaker::odd_value() {
  switch (below(10)) {
    case 0:
      return Json();
    case 1:
      return Json(chance(50));
    case 2:
      return Json(int64_t{-1});
    case 3:
      return Json(chance(50) ? INT64_MAX : INT64_MIN);
    case 4:
      return Json(int64_t{0});
    case 5:
      return Json(chance(50) ? 1.5 : 1e300);
    case 6:
      return Json(Json::Array(below(200), Json(std::string("x"))));
    case 7:
      return Json(Json::Object{{"a", Json()}});
    default:
      return Json(odd_text());
  }
}

// One member or item, somewhere, becomes another, goes away, or comes in.
void CaseMaker::spoil(Json& value) {
  if (Json::Object* members = value.as_object(); members != nullptr && !members->empty()) {
    size_t at = below(members->size());
    bool goes_deeper =
        chance(40) && ((*members)[at].second.is_object() || (*members)[at].second.is_array());
    if (goes_deeper) return spoil((*members)[at].second);
    if (chance(15)) {
      members->erase(members->begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      (*members)[at].second = odd_value();
    }
    return;
  }
  Json::Array* items = value.as_array();
  if (items != nullptr && !items->empty() && chance(70))
    return spoil((*items)[below(items->size())]);
  if (value.is_object() && chance(50)) {
    value.as_object()->emplace_back("unknown", odd_value());
  } else {
    value = odd_value();
  }
}

std::string CaseMaker::spoil_text(std::string json) {
  switch (below(8)) {
    case 0:
      return json.substr(0, below(json.size()));
    case 1:
      return json + "x";
    case 2:
      return "";
    case 3:
      return std::string(5000, '[');
    case 4:
      return "\xEF\xBB\xBF" + json;
    case 5:
      return "{\"a\":1,\"a\":2}";
    case 6:
      json[below(json.size())] = '\xff';
      return json;
    default:
      if (size_t quote = json.find(":\""); quote != json.npos) json.insert(quote + 2, "\\u0000");
      return json;
  }
}

}  // namespace hostler::testing_support
