// Amounts of budgets in bodies: a budget's, and that of a run's own budget.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

// The member amount as it was written, so that no digit is lost; nothing after a fault, or without
// the member. How many digits a unit has is checked in SQL (budget_amount_read).
std::optional<std::string> read_budget_amount(Fields& fields, bool is_required);

// The member budget of a request that begins a run, {unit, amount}, as JSON text.
std::optional<std::string> read_run_budget(Fields& fields);

}  // namespace hostler
