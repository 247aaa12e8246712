// A compiled schema: nodes that name each other by number. Made by lib/json_schema/compiler, read
// by lib/json_schema/validator, used by nothing else.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json_schema/numbers.h"
#include "lib/json_schema/pattern.h"
#include "lib/json_schema/schema.h"

namespace hostler::json_schema {

using NodeId = uint32_t;
constexpr NodeId no_node = UINT32_MAX;

struct CountBound {
  std::string_view keyword;
  bool is_least;
  size_t count;
};

struct NumberBound {
  std::string_view keyword;
  bool is_least;
  bool may_equal;
  Json limit;
};

struct NumberRules {
  std::vector<NumberBound> bounds;
  std::optional<Decimal> divisor;  // of multipleOf
  Json multiple_of;
};

struct NamedPattern {
  std::string expression;  // as it was declared
  Pattern pattern;
};

struct TextRules {
  std::vector<CountBound> lengths;
  const NamedPattern* pattern = nullptr;
};

struct ArrayRules {
  std::vector<CountBound> counts;
  std::vector<NodeId> prefix_items;
  NodeId items = no_node;
  NodeId contains = no_node;
  size_t contains_min = 1;
  size_t contains_max = SIZE_MAX;
  bool is_unique = false;
};

// A name that properties, required or dependentRequired know.
struct MemberRule {
  std::string name;
  NodeId schema = no_node;
  bool is_required = false;
  std::vector<std::string> needs = {};  // names that must be there beside it; each has a rule
};

struct ObjectRules {
  std::vector<CountBound> counts;
  std::vector<MemberRule> members;  // by name
  std::vector<std::pair<const NamedPattern*, NodeId>> patterns;
  NodeId additional = no_node;
  NodeId names = no_node;
};

// enum and const: canonical texts, sorted.
struct ListedValues {
  std::string_view keyword;
  std::vector<std::string> texts = {};
  size_t longest = 0;
  std::string words = {};  // for faults
};

// Rules that apply to the same value.
struct Applied {
  NodeId ref = no_node;
  std::vector<NodeId> all_of, any_of, one_of;
  NodeId none = no_node;  // not
  NodeId condition = no_node, then = no_node, otherwise = no_node;
};

enum TypeBit : unsigned {
  type_null = 1,
  type_boolean = 2,
  type_integer = 4,
  type_number = 8,
  type_string = 16,
  type_array = 32,
  type_object = 64,
};

struct TypeName {
  std::string_view name;
  TypeBit bit;
  std::string_view words;
};
constexpr TypeName type_names[] = {
    {"null", type_null, "null"},
    {"boolean", type_boolean, "true or false"},
    {"integer", type_integer, "a whole number"},
    {"number", type_number, "a number"},
    {"string", type_string, "a string"},
    {"array", type_array, "an array"},
    {"object", type_object, "an object"},
};

struct Node {
  bool is_never = false;     // the schema false
  bool is_nullable = false;  // null fits, whatever else the schema says
  unsigned types = 0;        // bits; none: any
  std::vector<ListedValues> listed;
  std::unique_ptr<NumberRules> number;
  std::unique_ptr<TextRules> text;
  std::unique_ptr<ArrayRules> array;
  std::unique_ptr<ObjectRules> object;
  std::unique_ptr<Applied> applied;
};

struct Compiled {
  std::deque<Node> nodes;  // the first is the schema itself
  std::deque<NamedPattern> patterns;
  PatternLoad load;
};

// A text of at most bytes_max bytes; what is cut off ends in "…".
std::string shortened(std::string_view text, size_t bytes_max);
// The name as a step of a JSON pointer, with its slash (RFC 6901); a long one is shortened.
void append_pointer_step(std::string& pointer, std::string_view name);

}  // namespace hostler::json_schema
