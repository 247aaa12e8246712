// Answers that are one statement: a row, or a page of a list. Called by handlers, whose own code is
// what they read.
#pragma once

#include <string_view>

#include "fcgi/input.h"
#include "fcgi/response.h"
#include "fcgi/services.h"
#include "lib/loop/task.h"

namespace hostler {

// Statements and the cursor's name outlive the calls, as those of the tables do.

// 200 with the JSON that the statement makes.
Task<Response> one_row(Services& services, Request& request, const Statement& statement,
                       Params params = {});

// A page as page_of() makes it. The statement's parameters: those given, then limit and cursor.
Task<Response> list_page(Services& services, Request& request, const Statement& statement,
                         Params params = {}, std::string_view cursor_name = "before");

// The same of a list with further query parameters: what was read of them, and their faults, which
// are told with those of limit and cursor.
Task<Response> list_page(Services& services, Request& request, Query query,
                         const Statement& statement, Params params,
                         std::string_view cursor_name = "before");

}  // namespace hostler
