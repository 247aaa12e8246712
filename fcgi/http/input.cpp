// Bodies read; see fcgi/http/input.h.
#include "fcgi/http/input.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "fcgi/http/input_value.h"
#include "lib/ascii.h"
#include "lib/json_bounds.h"
#include "lib/json_whole.h"

namespace hostler {
namespace {

// The media type without its parameters.
bool is_json_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  return ascii::equal_ignoring_case(ascii::trimmed(type, ascii::blanks), "application/json");
}

Error bad_json(std::string detail, size_t offset) {
  Error error(ErrorCode::http_bad_json, std::move(detail));
  error.members.emplace_back("offset", std::to_string(offset));
  return error;
}

Json parsed_object(const Request& request) {
  if (!is_json_type(request.content_type)) {
    throw Error(ErrorCode::http_unsupported_media_type, "send Content-Type: application/json");
  }
  // RFC 9110, section 15.5.16. Otherwise compressed bytes would be reported as bad JSON at byte 0.
  std::string_view coding = request.header("HTTP_CONTENT_ENCODING");
  if (!coding.empty() && !ascii::equal_ignoring_case(coding, "identity")) {
    throw Error(ErrorCode::http_unsupported_media_type, "send the body without Content-Encoding");
  }
  std::variant<Json, JsonFault> parsed = parse_bounded_json(request.body, json_values_of_body_max);
  if (const JsonFault* fault = std::get_if<JsonFault>(&parsed)) {
    throw bad_json(fmt::format("{} at byte {}", fault->message, fault->offset), fault->offset);
  }
  Json json = std::move(std::get<Json>(parsed));
  if (!json.is_object()) throw bad_json("The body must be a JSON object, at byte 0", 0);
  return json;
}

const char* kind_name(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::boolean:
      return "must be true or false";
    case Json::Kind::integer:
      return "must be an integer";
    case Json::Kind::number:
      return "must be a number";
    case Json::Kind::text:
      return "must be a string";
    case Json::Kind::array:
      return "must be an array";
    default:
      return "must be an object";
  }
}

void wrong_kind(Json::Kind wanted, const std::string& field, Faults& faults) {
  faults.add(field, "wrong_type", kind_name(wanted));
}

// Readers of one value that is there: nothing after a fault.
struct TextReader {
  TextBounds bounds;
  std::optional<std::string> operator()(const Json& json, const std::string& field,
                                        Faults& faults) const {
    if (json.as_text() == nullptr) {
      wrong_kind(Json::Kind::text, field, faults);
      return std::nullopt;
    }
    return input_value::text(*json.as_text(), bounds, field, faults);
  }
};

struct IntegerReader {
  Bounds bounds;
  std::optional<int64_t> operator()(const Json& json, const std::string& field,
                                    Faults& faults) const {
    if (std::optional<int64_t> value = whole_of(json)) {
      return input_value::integer(*value, bounds, field, faults);
    }
    // A whole number beyond 64 bits is still a whole number.
    std::optional<double> number = json.as_number();
    if (number && std::abs(*number) >= 0x1p63) {
      faults.add(field, "out_of_range", input_value::range_text(bounds.min, bounds.max));
    } else {
      wrong_kind(Json::Kind::integer, field, faults);
    }
    return std::nullopt;
  }
};

struct NumberReader {
  NumberBounds bounds;
  std::optional<double> operator()(const Json& json, const std::string& field,
                                   Faults& faults) const {
    std::optional<double> number = json.as_number();
    if (!number) {
      wrong_kind(Json::Kind::number, field, faults);
      return std::nullopt;
    }
    return input_value::number(*number, bounds, field, faults);
  }
};

struct BooleanReader {
  std::optional<bool> operator()(const Json& json, const std::string& field, Faults& faults) const {
    if (json.as_boolean() == nullptr) {
      wrong_kind(Json::Kind::boolean, field, faults);
      return std::nullopt;
    }
    return *json.as_boolean();
  }
};

// A text in one of the special forms.
template <class Check>
struct FormReader {
  Check check;
  std::optional<std::string> operator()(const Json& json, const std::string& field,
                                        Faults& faults) const {
    if (json.as_text() == nullptr) {
      wrong_kind(Json::Kind::text, field, faults);
      return std::nullopt;
    }
    return check(*json.as_text(), field, faults);
  }
};
template <class Check>
FormReader(Check) -> FormReader<Check>;

struct TextsReader {
  size_t count_max;
  TextBounds bounds;
  std::optional<std::vector<std::string>> operator()(const Json& json, const std::string& field,
                                                     Faults& faults) const {
    const Json::Array* items = json.as_array();
    if (items == nullptr) {
      wrong_kind(Json::Kind::array, field, faults);
      return std::nullopt;
    }
    if (items->size() > count_max) {
      faults.add(field, "too_long", fmt::format("must have at most {} items", count_max));
      return std::nullopt;
    }
    std::vector<std::string> texts;
    TextReader read{bounds};
    for (size_t i = 0; i < items->size(); ++i) {
      std::optional<std::string> text = read((*items)[i], fmt::format("{}.{}", field, i), faults);
      texts.push_back(std::move(text).value_or(""));
    }
    return texts;
  }
};

auto choice_reader(Choices choices) {
  return FormReader{[choices](std::string_view text, const std::string& field, Faults& faults) {
    return input_value::choice(text, choices, field, faults);
  }};
}

}  // namespace

Fields::Fields(const Json& object, std::string path, std::shared_ptr<Faults> faults)
    : object_(&object), path_(std::move(path)), faults_(std::move(faults)) {}

Fields Fields::of_body(const Request& request) {
  if (request.body.empty()) throw bad_json("The body is empty; send a JSON object.", 0);
  std::shared_ptr<const Json> body = std::make_shared<const Json>(parsed_object(request));
  Fields fields(*body, "", std::make_shared<Faults>());
  fields.owner_ = std::move(body);
  return fields;
}

Fields Fields::of_optional_body(const Request& request) {
  if (!request.body.empty()) return of_body(request);
  std::shared_ptr<const Json> body = std::make_shared<const Json>(Json::Object{});
  Fields fields(*body, "", std::make_shared<Faults>());
  fields.owner_ = std::move(body);
  return fields;
}

std::string Fields::field_name(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

const Json* Fields::find(std::string_view name) {
  names_read_.emplace_back(name);
  const Json* json = object_->find(name);
  if (json != nullptr) found_any_ = true;
  return json;
}

const Json* Fields::any(std::string_view name) { return find(name); }

bool Fields::has_value(std::string_view name) {
  const Json* json = find(name);
  return json != nullptr && !json->is_null();
}

const Json* Fields::required(std::string_view name) {
  const Json* json = find(name);
  if (json != nullptr && !json->is_null()) return json;
  fault(name, "required", "is required");
  return nullptr;
}

void Fields::fault(std::string_view name, std::string code, std::string message) {
  faults_->add(field_name(name), std::move(code), std::move(message));
}

void Fields::check_patch() {
  if (!found_any_) {
    fault("", "required", fmt::format("send at least one of {}", fmt::join(names_read_, ", ")));
  }
  faults_->check();
}

template <class T, class Reader>
std::optional<T> Fields::optional_of(std::string_view name, Reader read) {
  const Json* json = find(name);
  if (json == nullptr) return std::nullopt;
  if (!json->is_null()) return read(*json, field_name(name), *faults_);
  fault(name, "wrong_type", "must not be null");
  return std::nullopt;
}

template <class T, class Reader>
Nullable<T> Fields::nullable_of(std::string_view name, Reader read) {
  Nullable<T> result;
  const Json* json = find(name);
  if (json == nullptr) return result;
  result.is_given = true;
  if (!json->is_null()) result.value = read(*json, field_name(name), *faults_);
  return result;
}

std::string Fields::required_text(std::string_view name, TextBounds bounds) {
  const Json* json = required(name);
  if (json == nullptr) return {};
  return TextReader{bounds}(*json, field_name(name), *faults_).value_or("");
}
std::optional<std::string> Fields::optional_text(std::string_view name, TextBounds bounds) {
  return optional_of<std::string>(name, TextReader{bounds});
}
Nullable<std::string> Fields::nullable_text(std::string_view name, TextBounds bounds) {
  return nullable_of<std::string>(name, TextReader{bounds});
}

int64_t Fields::required_integer(std::string_view name, Bounds bounds) {
  const Json* json = required(name);
  if (json == nullptr) return 0;
  return IntegerReader{bounds}(*json, field_name(name), *faults_).value_or(0);
}
std::optional<int64_t> Fields::optional_integer(std::string_view name, Bounds bounds) {
  return optional_of<int64_t>(name, IntegerReader{bounds});
}
Nullable<int64_t> Fields::nullable_integer(std::string_view name, Bounds bounds) {
  return nullable_of<int64_t>(name, IntegerReader{bounds});
}

std::optional<double> Fields::optional_number(std::string_view name, NumberBounds bounds) {
  return optional_of<double>(name, NumberReader{bounds});
}
Nullable<double> Fields::nullable_number(std::string_view name, NumberBounds bounds) {
  return nullable_of<double>(name, NumberReader{bounds});
}

bool Fields::required_boolean(std::string_view name) {
  const Json* json = required(name);
  if (json == nullptr) return false;
  return BooleanReader{}(*json, field_name(name), *faults_).value_or(false);
}
std::optional<bool> Fields::optional_boolean(std::string_view name) {
  return optional_of<bool>(name, BooleanReader{});
}

Nullable<bool> Fields::nullable_boolean(std::string_view name) {
  return nullable_of<bool>(name, BooleanReader{});
}

std::string Fields::required_choice(std::string_view name, Choices choices) {
  const Json* json = required(name);
  if (json == nullptr) return {};
  return choice_reader(choices)(*json, field_name(name), *faults_).value_or("");
}
std::optional<std::string> Fields::optional_choice(std::string_view name, Choices choices) {
  return optional_of<std::string>(name, choice_reader(choices));
}
Nullable<std::string> Fields::nullable_choice(std::string_view name, Choices choices) {
  return nullable_of<std::string>(name, choice_reader(choices));
}

std::string Fields::required_id(std::string_view name) {
  const Json* json = required(name);
  if (json == nullptr) return {};
  return FormReader{input_value::id}(*json, field_name(name), *faults_).value_or("");
}
Nullable<std::string> Fields::nullable_id(std::string_view name) {
  return nullable_of<std::string>(name, FormReader{input_value::id});
}

std::string Fields::required_time(std::string_view name) {
  const Json* json = required(name);
  if (json == nullptr) return {};
  return FormReader{input_value::time}(*json, field_name(name), *faults_).value_or("");
}
Nullable<std::string> Fields::nullable_time(std::string_view name) {
  return nullable_of<std::string>(name, FormReader{input_value::time});
}

std::vector<std::string> Fields::required_texts(std::string_view name, size_t count_max,
                                                TextBounds bounds) {
  const Json* json = required(name);
  if (json == nullptr) return {};
  TextsReader read{count_max, bounds};
  return read(*json, field_name(name), *faults_).value_or(std::vector<std::string>());
}
std::optional<std::vector<std::string>> Fields::optional_texts(std::string_view name,
                                                               size_t count_max,
                                                               TextBounds bounds) {
  return optional_of<std::vector<std::string>>(name, TextsReader{count_max, bounds});
}

Nullable<Fields> Fields::nullable_object(std::string_view name) {
  Nullable<Fields> result;
  const Json* json = find(name);
  if (json == nullptr) return result;
  result.is_given = true;
  if (json->is_object()) {
    result.value.emplace(*json, field_name(name), faults_).owner_ = owner_;
  } else if (!json->is_null()) {
    wrong_kind(Json::Kind::object, field_name(name), *faults_);
  }
  return result;
}

std::vector<Fields> Fields::optional_objects(std::string_view name, size_t count_max) {
  std::vector<Fields> objects;
  const Json* json = find(name);
  if (json == nullptr) return objects;
  const Json::Array* items = json->as_array();
  if (items == nullptr) {
    wrong_kind(Json::Kind::array, field_name(name), *faults_);
    return objects;
  }
  if (items->size() > count_max) {
    fault(name, "too_long", fmt::format("must have at most {} items", count_max));
    return objects;
  }
  for (size_t i = 0; i < items->size(); ++i) {
    std::string path = fmt::format("{}.{}", field_name(name), i);
    if ((*items)[i].is_object()) {
      objects.emplace_back((*items)[i], std::move(path), faults_).owner_ = owner_;
    } else {
      wrong_kind(Json::Kind::object, path, *faults_);
    }
  }
  return objects;
}

}  // namespace hostler
