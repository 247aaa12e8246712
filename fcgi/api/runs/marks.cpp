// See fcgi/api/runs/marks.h.
#include "fcgi/api/runs/marks.h"

#include <fmt/format.h>

#include "lib/utf8.h"

namespace hostler {
namespace {

constexpr size_t members_max = 16;
constexpr TextBounds name_bounds{.min = 1, .max = 64, .takes_control = true};
constexpr TextBounds value_bounds{.max = 512, .takes_control = true};
constexpr std::string_view filter_name = "metadata";

// A fault of a value quotes its name, so a name that is too long is left out.
void check_member(const Json::Member& member, Fields& fields) {
  const auto& [name, value] = member;
  size_t length = character_count(name);
  if (length < name_bounds.min || length > name_bounds.max) {
    fields.fault("metadata", length == 0 ? "too_short" : "too_long",
                 fmt::format("must have names of 1 to {} characters", name_bounds.max));
    return;
  }
  std::string field = fmt::format("metadata.{}", name);
  if (!value.is_text()) {
    fields.fault(field, "wrong_type", "must be a string");
  } else if (character_count(*value.as_text()) > value_bounds.max) {
    fields.fault(field, "too_long",
                 fmt::format("must have at most {} characters", value_bounds.max));
  }
}

}  // namespace

std::optional<std::string> read_metadata(Fields& fields) {
  const Json* metadata = fields.any("metadata");
  if (metadata == nullptr) return std::nullopt;
  const Json::Object* members = metadata->as_object();
  if (members == nullptr) {
    fields.fault("metadata", "wrong_type", "must be an object");
    return std::nullopt;
  }
  if (members->size() > members_max) {
    fields.fault("metadata", "too_long", fmt::format("must have at most {} members", members_max));
    return std::nullopt;
  }
  for (const Json::Member& member : *members) check_member(member, fields);
  return metadata->dump();
}

std::optional<MetadataFilter> read_metadata_filter(const http::Target& target,
                                                   QueryFields& fields) {
  std::optional<MetadataFilter> filter;
  for (const auto& [parameter, value] : target.query) {
    std::string_view rest = parameter;
    if (!rest.starts_with(filter_name)) continue;
    rest.remove_prefix(filter_name.size());
    if (!rest.empty() && rest.front() != '[') continue;
    if (rest.size() < 3 || rest.back() != ']') {
      fields.fault("metadata", "bad_format", "must be metadata[name]=value");
      continue;
    }
    if (filter) {
      fields.fault("metadata", "too_long", "must be one member");
      continue;
    }
    filter = MetadataFilter{std::string(rest.substr(1, rest.size() - 2)), value};
    if (character_count(filter->name) > name_bounds.max) {
      fields.fault("metadata", "too_long",
                   fmt::format("must have a name of 1 to {} characters", name_bounds.max));
    } else {
      fields.text(parameter, value_bounds);
    }
  }
  return filter;
}

}  // namespace hostler
