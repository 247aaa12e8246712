// See runner/models/tool_schema.h.
#include "runner/models/tool_schema.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/utf8.h"
#include "runner/models/schema_members.h"
#include "runner/models/schema_mender.h"
#include "runner/models/schema_merge.h"

namespace hostler {
namespace {

constexpr size_t name_bytes_max = 64;
constexpr size_t shown_schema_bytes_max = 400;
constexpr size_t note_bytes_max = 4'000;

bool is_word(std::string_view name, std::string_view more) {
  return !name.empty() && name.size() <= name_bytes_max &&
         std::all_of(name.begin(), name.end(), [more](char c) {
           return ascii::is_letter_or_digit(c) || more.find(c) != more.npos;
         });
}

// The root as an object of keywords; nothing: it admits no arguments at all.
std::optional<Json::Object> root_of(const Json& document) {
  if (document.is_object()) return *document.as_object();
  const bool* is_any = document.as_boolean();
  bool admits_all = document.is_null() || (is_any != nullptr && *is_any);
  if (!admits_all) return std::nullopt;
  return Json::Object();
}

bool takes_object(const Json* type) {
  if (type == nullptr) return true;
  if (type->is_text()) return *type->as_text() == "object";
  const Json::Array& types = *type->as_array();
  return std::any_of(types.begin(), types.end(),
                     [](const Json& one) { return *one.as_text() == "object"; });
}

// "type" and "properties", as every provider wants them. Whether they were there.
bool name_object(Json::Object& root) {
  Json* type = member_of(root, "type");
  bool is_named = type != nullptr && type->is_text();
  if (type == nullptr) {
    root.emplace(root.begin(), "type", Json(std::string("object")));
  } else {
    *type = Json(std::string("object"));
  }
  bool has_properties = member_of(root, "properties") != nullptr;
  if (!has_properties) root.emplace_back("properties", empty_schema());
  return is_named && has_properties;
}

// Members whose names the provider refuses are described in words, because models write them
// anyway.
std::string take_unnameable(Json::Object& root) {
  Json::Object& properties = *member_of(root, "properties")->as_object();
  Json* required = member_of(root, "required");
  std::string note;
  std::set<std::string> taken;
  for (const auto& [name, schema] : properties) {
    if (is_word(name, "_.-")) continue;
    taken.insert(name);
    bool is_required = required != nullptr &&
                       std::ranges::any_of(*required->as_array(), [&name = name](const Json& one) {
                         return *one.as_text() == name;
                       });
    std::string shown = schema.dump();
    if (shown.size() > shown_schema_bytes_max) shown = "{}";
    if (note.size() > note_bytes_max) continue;
    if (!note.empty()) note += '\n';
    note += fmt::format("It also accepts the argument {}{}: {}", Json(name).dump(),
                        is_required ? " (required)" : "", shown);
  }
  if (taken.empty()) return note;
  std::erase_if(properties,
                [&](const Json::Member& member) { return taken.contains(member.first); });
  // Which would forbid them.
  erase_member(root, "additionalProperties");
  if (required == nullptr) return note;
  required = member_of(root, "required");
  std::erase_if(*required->as_array(),
                [&](const Json& one) { return taken.contains(*one.as_text()); });
  return note;
}

std::string joined(std::string before, const std::string& note) {
  if (before.empty() || note.empty()) return before + note;
  return before + "\n\n" + note;
}

}  // namespace

std::variant<FittedSchema, SchemaRefusal> fit_schema(ProviderKind kind, std::string_view schema) {
  auto parsed = parse_json(schema);
  if (const JsonFault* fault = std::get_if<JsonFault>(&parsed)) {
    return SchemaRefusal{"Its schema cannot be read: " + fault->message};
  }
  const Json& document = std::get<Json>(parsed);
  std::optional<Json::Object> root = root_of(document);
  if (!root) return SchemaRefusal{"Its schema admits no arguments."};
  SchemaMender mender(kind, document);
  MergedRoot merged = merged_root(mender, *root);
  Json::Object mended = mender.root(std::move(merged.object));
  if (mender.is_too_large()) {
    return SchemaRefusal{"Its schema becomes too large where its $refs are followed."};
  }
  if (!takes_object(member_of(mended, "type"))) {
    return SchemaRefusal{"Its schema does not describe an object, as arguments are."};
  }
  bool was_named = name_object(mended);
  std::string unnamed = kind == ProviderKind::anthropic ? take_unnameable(mended) : "";
  bool is_same = document.is_object() && was_named && unnamed.empty() && !merged.has_changed &&
                 !mender.has_changed();
  if (is_same) return FittedSchema{std::string(schema), ""};
  return FittedSchema{Json(std::move(mended)).dump(), joined(std::move(merged.note), unnamed)};
}

FittedTools fit_tools(ProviderKind kind, std::vector<ToolDefinition> tools) {
  FittedTools all;
  std::set<std::string> names;
  for (ToolDefinition& tool : tools) {
    if (!is_word(tool.name, "_-")) {
      all.left_out.push_back(
          {std::string(utf8_prefix(tool.name, 256)),
           "Its name has other characters than letters, digits, _ and -, or more than 64."});
      continue;
    }
    if (!names.insert(tool.name).second) {
      all.left_out.push_back({tool.name, "Another tool has its name."});
      continue;
    }
    auto fit = fit_schema(kind, tool.parameters);
    if (SchemaRefusal* refusal = std::get_if<SchemaRefusal>(&fit)) {
      all.left_out.push_back({tool.name, std::move(refusal->reason)});
      continue;
    }
    FittedSchema& fitted = std::get<FittedSchema>(fit);
    tool.parameters = std::move(fitted.schema);
    // The provider cannot enforce the content of a note.
    if (!fitted.note.empty()) tool.strict.reset();
    tool.description = joined(std::move(tool.description), fitted.note);
    all.fitted.push_back(std::move(tool));
  }
  return all;
}

}  // namespace hostler
