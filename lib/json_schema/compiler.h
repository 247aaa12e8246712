// Compiles a schema: reads its keywords, resolves its $refs, and refuses what it may not hold.
// Called by Schema::compile (lib/json_schema/schema.h).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/json_schema/compiled.h"
#include "lib/json_schema/schema.h"

namespace hostler::json_schema {

class Compiler {
 public:
  // document outlives the compiler.
  Compiler(const Json& document, Compiled& compiled) : document_(document), compiled_(compiled) {}
  // The fault, or nothing: compiled holds the schema.
  std::optional<SchemaFault> compile();

 private:
  // keyword is the row's own name.
  using Handler = void (Compiler::*)(Node& node, std::string_view keyword, const Json& value);
  struct Keyword {
    std::string_view name;
    Handler handler;  // nothing: an annotation
  };
  static const Keyword keywords[];
  static const Keyword* keyword_of(std::string_view name);

  // at is a value of the document. The first refusal stays; what is called later does nothing.
  void refuse(const Json& at, std::string message);
  void refuse_unknown(std::string_view name, const Json& value);
  void check_size();
  NodeId schema(const Json& json);
  std::vector<NodeId> schemas_of(const Json& array);
  const NamedPattern* pattern(const Json& at, const std::string& expression);
  std::optional<size_t> count(const Json& value);
  std::vector<std::string> names(const Json& value);
  const Json::Object* object_of(const Json& value, std::string_view what);
  void resolve_refs();
  NodeId target_of(const Json& ref);
  void check_circles();

  void type(Node& node, std::string_view keyword, const Json& value);
  void one_type(Node& node, const Json& name);
  void listed_values(Node& node, std::string_view keyword, const Json& value);
  void number_bound(Node& node, std::string_view keyword, const Json& value);
  void nullable(Node& node, std::string_view keyword, const Json& value);
  void multiple_of(Node& node, std::string_view keyword, const Json& value);
  void count_bound(Node& node, std::string_view keyword, const Json& value);
  void text_pattern(Node& node, std::string_view keyword, const Json& value);
  void prefix_items(Node& node, std::string_view keyword, const Json& value);
  void items(Node& node, std::string_view keyword, const Json& value);
  void contains(Node& node, std::string_view keyword, const Json& value);
  void contains_bound(Node& node, std::string_view keyword, const Json& value);
  void unique_items(Node& node, std::string_view keyword, const Json& value);
  void properties(Node& node, std::string_view keyword, const Json& value);
  void pattern_properties(Node& node, std::string_view keyword, const Json& value);
  void additional(Node& node, std::string_view keyword, const Json& value);
  void property_names(Node& node, std::string_view keyword, const Json& value);
  void required(Node& node, std::string_view keyword, const Json& value);
  void dependent_required(Node& node, std::string_view keyword, const Json& value);
  void applied_schema(Node& node, std::string_view keyword, const Json& value);
  void applied_schemas(Node& node, std::string_view keyword, const Json& value);
  void definitions(Node& node, std::string_view keyword, const Json& value);
  void reference(Node& node, std::string_view keyword, const Json& value);

  const Json& document_;
  Compiled& compiled_;
  std::optional<SchemaFault> fault_;
  std::unordered_map<const Json*, NodeId> ids_;  // of what stands where a schema stands
  std::vector<std::pair<Node*, const Json*>> refs_;
  std::unordered_map<std::string, const NamedPattern*> patterns_;
};

}  // namespace hostler::json_schema
