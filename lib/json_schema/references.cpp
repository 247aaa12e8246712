// $refs: what they point to, and that following them comes to an end. See
// lib/json_schema/compiler.h.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "lib/json_schema/compiler.h"
#include "lib/utf8.h"

namespace hostler::json_schema {
namespace {

// Percent-encoding undone; nothing: it is broken, or what it stands for is no text of JSON.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned char byte = 0;
    std::string_view digits = text.substr(i + 1, 2);
    const char* end = digits.data() + digits.size();
    if (digits.size() < 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end) {
      return std::nullopt;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  if (!is_utf8(out) || out.find('\0') != out.npos) return std::nullopt;
  return out;
}

// ~1 and ~0 undone; nothing: another ~ (RFC 6901).
std::optional<std::string> unescaped(std::string_view step) {
  std::string out;
  for (size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      out += step[i];
      continue;
    }
    if (i + 1 == step.size() || (step[i + 1] != '0' && step[i + 1] != '1')) return std::nullopt;
    out += step[++i] == '0' ? '~' : '/';
  }
  return out;
}

const Json* child(const Json& json, const std::string& step) {
  const Json::Array* array = json.as_array();
  if (array == nullptr) return json.find(step);
  size_t index = 0;
  const char* end = step.data() + step.size();
  std::from_chars_result read = std::from_chars(step.data(), end, index);
  bool is_index = read.ec == std::errc() && read.ptr == end && (step == "0" || step[0] != '0');
  return is_index && index < array->size() ? &(*array)[index] : nullptr;
}

// What the pointer leads to; nothing: nowhere.
const Json* value_at(const Json& document, std::string_view pointer) {
  const Json* at = &document;
  while (!pointer.empty() && at != nullptr) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    std::string_view escaped = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(escaped.size());
    std::optional<std::string> step = unescaped(escaped);
    at = step ? child(*at, *step) : nullptr;
  }
  return at;
}

// A node that applies another one to the same value.
struct Application {
  NodeId node;
  bool is_ref;
};

std::vector<Application> applications_of(const Node& node) {
  std::vector<Application> found;
  if (node.applied == nullptr) return found;
  const Applied& applied = *node.applied;
  if (applied.ref != no_node) found.push_back({applied.ref, true});
  for (const auto* list : {&applied.all_of, &applied.any_of, &applied.one_of}) {
    for (NodeId id : *list) found.push_back({id, false});
  }
  if (applied.none != no_node) found.push_back({applied.none, false});
  if (applied.condition == no_node) return found;  // without it, then and else say nothing
  for (NodeId id : {applied.condition, applied.then, applied.otherwise}) {
    if (id != no_node) found.push_back({id, false});
  }
  return found;
}

// How often each node is applied by another one.
std::vector<size_t> appliers(const std::deque<Node>& nodes) {
  std::vector<size_t> counts(nodes.size());
  for (const Node& node : nodes) {
    for (const Application& application : applications_of(node)) ++counts[application.node];
  }
  return counts;
}

// A node with a $ref of which the circle is made. In appliers_left are above 0 those that a circle
// is, or that one leads to.
const Node* ref_in_circle(const std::deque<Node>& nodes, const std::vector<size_t>& appliers_left) {
  std::vector<NodeId> applier(nodes.size(), no_node);
  NodeId at = no_node;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (appliers_left[id] == 0) continue;
    at = id;
    for (const Application& application : applications_of(nodes[id]))
      applier[application.node] = id;
  }
  // Each of them has an applier among them: after as many steps as there are nodes, backwards, one
  // stands in a circle, and none is without a $ref.
  for (size_t i = 0; i < nodes.size(); ++i) at = applier[at];
  while (nodes[applier[at]].applied->ref != at) at = applier[at];
  return &nodes[applier[at]];
}

}  // namespace

void Compiler::resolve_refs() {
  for (auto& [node, ref] : refs_) {
    node->applied->ref = target_of(*ref);
    if (fault_) return;
  }
}

NodeId Compiler::target_of(const Json& ref) {
  const std::string* text = ref.as_text();
  if (text == nullptr || !text->starts_with('#')) {
    refuse(ref,
           "must point into this schema, as \"#/$defs/name\" does: nothing is fetched; put "
           "what it points to below $defs");
    return no_node;
  }
  std::optional<std::string> pointer = decoded(std::string_view(*text).substr(1));
  if (!pointer || (!pointer->empty() && pointer->front() != '/')) {
    refuse(ref,
           "must be # or begin with #/ and be a JSON pointer, as \"#/$defs/name\"; anchors "
           "are not supported");
    return no_node;
  }
  const Json* target = value_at(document_, *pointer);
  if (target == nullptr) {
    refuse(ref, fmt::format("points to nothing: this schema has no {}", shortened(*pointer, 200)));
    return no_node;
  }
  auto known = ids_.find(target);
  if (known != ids_.end()) return known->second;
  refuse(ref, fmt::format("points to {}, which is no schema; put a schema below $defs and point "
                          "to that",
                          shortened(*pointer, 200)));
  return no_node;
}

// Peels off, again and again, what nothing that is left applies: circles stay. How deep each node
// is applied is known when its last applier goes; a $ref costs no depth (validator.cpp).
void Compiler::check_circles() {
  const std::deque<Node>& nodes = compiled_.nodes;
  std::vector<size_t> left = appliers(nodes);
  std::vector<int> depth(nodes.size());
  std::vector<NodeId> free;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (left[id] == 0) free.push_back(id);
  }
  size_t peeled = 0;
  while (!free.empty()) {
    NodeId id = free.back();
    free.pop_back();
    ++peeled;
    if (depth[id] > schema_nesting_max) {
      return refuse(document_,
                    fmt::format("more than {} of allOf, anyOf, oneOf, not and if apply within each "
                                "other to one value, by $refs; make the chain shorter",
                                schema_nesting_max));
    }
    for (const Application& application : applications_of(nodes[id])) {
      int below = depth[id] + (application.is_ref ? 0 : 1);
      depth[application.node] = std::max(depth[application.node], below);
      if (--left[application.node] == 0) free.push_back(application.node);
    }
  }
  if (peeled == nodes.size()) return;
  const Node* circular = ref_in_circle(nodes, left);
  for (const auto& [node, ref] : refs_) {
    if (node != circular) continue;
    return refuse(*ref,
                  "leads back to itself without going into a member or an item, so it says "
                  "nothing; remove it, or put it below properties or items");
  }
}

}  // namespace hostler::json_schema
