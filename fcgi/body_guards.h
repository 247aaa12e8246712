// Guards of bodies: for calls whose body needs a further permission or names a row, the statement
// that raises the 403 or 404 of those. fcgi/answer_call.cpp sends it before it reports a fault of
// the body; a body without a fault needs none, because its own statement checks the same.
#pragma once

#include <optional>

#include "fcgi/http/route.h"

namespace hostler {

// Returns nothing for routes whose bodies need no guard, and for a body that is not a JSON object.
std::optional<postgres::BoundStatement> body_guard(const Routed& routed);

}  // namespace hostler
