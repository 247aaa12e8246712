// The answer of a list that takes no query parameters but limit and the cursor. Called by handlers.
#pragma once

#include <string_view>

#include "fcgi/response.h"
#include "fcgi/services.h"
#include "lib/loop/task.h"

namespace hostler {

// The statement's parameters: those given, then limit and cursor; its answer is a page as page_of()
// makes it. The statement and the cursor's name outlive the call, as those of the tables do.
Task<Response> list_page(Services& services, Request& request, const Statement& statement,
                         Params params = {}, std::string_view cursor_name = "before");

}  // namespace hostler
