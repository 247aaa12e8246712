// See runner/mcp/param_headers.h.
#include "runner/mcp/param_headers.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/crypto.h"

namespace hostler::runner {
namespace {

constexpr std::string_view keyword = "x-mcp-header";
constexpr int64_t safe_integer_max = (int64_t{1} << 53) - 1;
constexpr size_t name_bytes_max = 128;

bool is_field_name(std::string_view text) {
  return text.size() <= name_bytes_max && ascii::is_token(text);
}

// A property that is annotated: its name in fields, and its value in the arguments.
struct Annotated {
  std::string name;
  std::vector<std::string> path;
  std::string type;
};

// Reads schemas without recursion over anything but their own nesting, which parse_json() bounds.
class Annotations {
 public:
  explicit Annotations(const Json& schema) { read(schema, true); }
  const std::vector<Annotated>& found() const { return found_; }
  const std::optional<std::string>& fault() const { return fault_; }

 private:
  // reachable: by names of properties alone.
  void read(const Json& value, bool reachable) {
    if (fault_) return;
    if (value.is_array()) {
      for (const Json& one : *value.as_array()) read(one, false);
      return;
    }
    if (!value.is_object()) return;
    for (const auto& [name, member] : *value.as_object()) {
      if (name == keyword) {
        take(value, member, reachable);
      } else if (name == "properties" && reachable && member.is_object()) {
        for (const auto& [property, schema] : *member.as_object()) {
          path_.push_back(property);
          read(schema, true);
          path_.pop_back();
        }
      } else if (!is_annotation(name)) {
        read(member, false);
      }
    }
  }

  // Values, where a member of that name annotates nothing.
  static bool is_annotation(std::string_view name) {
    return name == "default" || name == "const" || name == "enum" || name == "examples";
  }

  void take(const Json& schema, const Json& name, bool reachable) {
    std::string type(schema.text_or("type"));
    if (!reachable || path_.empty()) {
      fault_ = "x-mcp-header is not at a single parameter";
    } else if (!name.is_text() || !is_field_name(*name.as_text())) {
      fault_ = "an x-mcp-header is not the name of a field";
    } else if (type != "string" && type != "integer" && type != "boolean") {
      fault_ = "an x-mcp-header is not for a string, integer or boolean";
    } else if (!names_.insert(ascii::lower_case(*name.as_text())).second) {
      fault_ = "an x-mcp-header is given twice";
    } else {
      found_.push_back({*name.as_text(), path_, type});
    }
  }

  std::vector<Annotated> found_;
  std::vector<std::string> path_;
  std::set<std::string> names_;
  std::optional<std::string> fault_;
};

const Json* value_at(const Json& arguments, const std::vector<std::string>& path) {
  const Json* value = &arguments;
  for (const std::string& name : path) {
    if (!value->is_object()) return nullptr;
    value = value->find(name);
    if (value == nullptr) return nullptr;
  }
  return value;
}

std::optional<std::string> text_of(const Json& value) {
  if (value.is_text()) return *value.as_text();
  if (const bool* truth = value.as_boolean()) return *truth ? "true" : "false";
  if (const int64_t* number = value.as_integer()) {
    bool is_safe = *number <= safe_integer_max && *number >= -safe_integer_max;
    return is_safe ? std::optional(std::to_string(*number)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string header_value(std::string_view text) {
  bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  bool has_edges = text.starts_with(' ') || text.ends_with(' ');
  bool has_marks = text.starts_with("=?base64?") && text.ends_with("?=");
  if (is_plain && !has_edges && !has_marks) return std::string(text);
  return fmt::format("=?base64?{}?=", to_base64(text));
}

std::optional<std::string> param_header_fault(const Json& input_schema) {
  return Annotations(input_schema).fault();
}

std::vector<http::HttpField> param_headers(const Json& input_schema, const Json& arguments) {
  std::vector<http::HttpField> headers;
  Annotations annotations(input_schema);
  for (const Annotated& one : annotations.found()) {
    const Json* value = value_at(arguments, one.path);
    std::optional<std::string> text = value == nullptr ? std::nullopt : text_of(*value);
    if (text) headers.emplace_back("Mcp-Param-" + one.name, header_value(*text));
  }
  return headers;
}

}  // namespace hostler::runner
