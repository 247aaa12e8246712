// Feature flags and their overrides for organizations. Statements: sql/queries/feature_flags.sql.
#include "queries/feature_flags.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"

namespace hostler {
namespace {

// Lower-case words of letters, digits and underscores, parted by single dots.
bool is_flag_key(std::string_view key) {
  bool wants_letter = true;
  for (char c : key) {
    bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (c == '.' && wants_letter) return false;
    if (c != '.' && !is_word) return false;
    wants_letter = c == '.';
  }
  return !wants_letter;
}

}  // namespace

OneStatement create_feature_flag(const Input& input) {
  Fields fields = input.body();
  std::string key = fields.required_text("key", {.min = 1, .max = 128});
  std::optional<std::string> description =
      fields.optional_text("description", {.max = 2000, .takes_control = true});
  bool default_value = fields.required_boolean("default_value");
  if (!key.empty() && !is_flag_key(key)) {
    fields.fault("key", "bad_format", "must be lower-case words separated by dots");
  }
  fields.check();
  return OneStatement::row(
      query::FeatureFlagCreate{
          .key = key, .description = description.value_or(""), .default_value = default_value},
      201);
}

OneStatement list_feature_flags(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input,
                             query::FeatureFlagPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement show_feature_flag(const Input& input) {
  return OneStatement::row(query::FeatureFlagShow{.key = input.path_value("key")});
}

OneStatement update_feature_flag(const Input& input) {
  Fields fields = input.body();
  bool default_value = fields.required_boolean("default_value");
  fields.check_patch();
  return OneStatement::row(
      query::FeatureFlagUpdate{.key = input.path_value("key"), .default_value = default_value});
}

OneStatement delete_feature_flag(const Input& input) {
  return OneStatement::ok(query::FeatureFlagDelete{.key = input.path_value("key")});
}

OneStatement set_flag_override(const Input& input) {
  Fields fields = input.body();
  std::string org_id = fields.required_id("org_id");
  bool enabled = fields.required_boolean("enabled");
  fields.check();
  return OneStatement::new_or_changed(
      query::FlagOverrideSet{.key = input.path_value("key"), .org_id = org_id, .enabled = enabled});
}

OneStatement list_flag_overrides(const Input& input) {
  Page page = input.page();
  return OneStatement::items(
      input,
      query::FlagOverridePage{
          .key = input.path_value("key"), .limit = page.limit, .before = page.before},
      {.limit = page.limit});
}

OneStatement delete_flag_override(const Input& input) {
  return OneStatement::ok(query::FlagOverrideDelete{.key = input.path_value("key"),
                                                    .org_id = input.path_value("org_id")});
}

OneStatement evaluate_feature_flag(const Input& input) {
  QueryFields fields = input.query();
  std::string org_id = fields.required_id("org_id");
  fields.check();
  return OneStatement::row(
      query::FeatureFlagEvaluate{.key = input.path_value("key"), .org_id = org_id});
}

OneStatement list_own_flags(const Input&) { return OneStatement::row(query::FeatureFlagsMine{}); }

}  // namespace hostler
