// $refs: what they point to, and that following them comes to an end. See
// lib/json_schema/compiler.h.
#include <algorithm>

#include <fmt/format.h>

#include "lib/json_schema/compiler.h"
#include "lib/json_schema/pointer.h"

namespace hostler::json_schema {
namespace {

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
           "must point into this schema, as \"#/$defs/name\" does, because nothing is fetched; put "
           "its target below $defs");
    return no_node;
  }
  std::optional<std::string> pointer = pointer_of_fragment(std::string_view(*text).substr(1));
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
  refuse(ref, fmt::format(
                  "points to {}, which is not a schema; put a schema below $defs and point to that",
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
