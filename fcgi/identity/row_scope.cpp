// See fcgi/identity/row_scope.h.
#include "fcgi/identity/row_scope.h"

#include <string_view>

#include "lib/ids.h"
#include "queries/access.h"

namespace hostler {
namespace {

// Empty when the path has none, or no UUID.
std::string_view row_id(const Routed& routed) {
  for (const auto& [name, value] : routed.path_values) {
    if (name.ends_with("_id")) return is_uuid(value) ? value : std::string_view();
  }
  return {};
}

}  // namespace

bool lacks_scope(const Routed& routed) {
  return routed.route.access.audience == Access::Audience::scope &&
         routed.target.query_value("scope") == nullptr && !row_id(routed).empty();
}

Task<void> add_row_scope(postgres::Database& database, const Routed& routed, http::Target& target) {
  postgres::BoundStatement question = query::RowIsOfPlatform{.row_id = row_id(routed)};
  postgres::Result found = co_await database.pipelined(std::move(question));
  bool is_of_platform = found.front().boolean("is_of_platform");
  target.query.emplace_back("scope", is_of_platform ? "platform" : "org");
}

}  // namespace hostler
