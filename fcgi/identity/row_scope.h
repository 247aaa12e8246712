// The scope of a request that names a row and no scope: that of the row. Called by
// fcgi/dispatch.cpp before anything reads the scope; never answers whether the row exists.
#pragma once

#include "fcgi/http/route.h"
#include "lib/http/request_target.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler {

// Whether the route depends on a scope, the path names a row by its id, and the query no scope.
bool lacks_scope(const Routed& routed);
// Adds the parameter scope to the query: platform for a row of the platform; org for any other id,
// so that a caller with rights in an organization gets 404 for things that it does not have.
Task<void> add_row_scope(postgres::Database& database, const Routed& routed, http::Target& target);

}  // namespace hostler
