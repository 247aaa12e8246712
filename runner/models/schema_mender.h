// Mends the schemas within the schema of a tool, see runner/models/tool_schema.h: every keyword at
// every depth, and where $refs lead. One mender for one document.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/json.h"
#include "runner/models/model.h"

namespace hostler {

// A schema gets no larger than this by what its $refs lead to.
constexpr size_t mended_schemas_max = 20'000;

class SchemaMender {
 public:
  // document outlives the mender; $refs point into it.
  SchemaMender(ProviderKind kind, const Json& document) : kind_(kind), document_(document) {}

  // The root, which may have been merged from the document's, with $defs of all that is pointed to.
  Json::Object root(Json::Object root);
  // Returns the value to which the text of a $ref leads, or null if it is outside the document.
  const Json* target(const Json& ref) const;
  // Whether the last root() is another than what it was given.
  bool has_changed() const { return has_changed_; }
  bool is_too_large() const { return schemas_ > mended_schemas_max; }

 private:
  // Replacement for an object with keywords beside its $ref.
  struct Beside {
    Json::Object object;
    std::string pointer;  // of the $ref; empty: the object stands for itself
  };
  Json schema(const Json& json);
  Json::Object keywords(const Json::Object& object);
  void add_keyword(Json::Object& out, const std::string& name, const Json& value,
                   const Json::Object& all);
  void add_words(Json::Object& out, const std::string& name, const Json& value);
  bool add_structure(Json::Object& out, const std::string& name, const Json& value);
  void add_items(Json::Object& out, const Json& value, const Json::Object& all);
  void add_reference(Json::Object& out, const Json& ref);
  void add_bound(Json::Object& out, const std::string& name, const Json& value,
                 const Json::Object& all);
  void complete(Json::Object& out);
  void name_required(Json::Object& out);
  Json members(const Json& value);
  Json list(const Json& value);
  std::string moved_name(std::string_view pointer);
  Beside beside_reference(const Json::Object& object);

  ProviderKind kind_;
  const Json& document_;
  bool has_changed_ = false;
  size_t schemas_ = 0;
  std::vector<std::string> expanding_;        // pointers, outermost first
  std::map<std::string, std::string> moved_;  // pointers of what goes into $defs, and its names
  std::vector<std::pair<std::string, const Json*>> unmended_;  // of those, by name
  std::set<std::string> names_;                                // in $defs
};

}  // namespace hostler
