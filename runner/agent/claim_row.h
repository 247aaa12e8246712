// Reads a row that run_claim answered. Called by the run queue.
#pragma once

#include "lib/postgres/database.h"
#include "runner/steps/claim.h"

namespace hostler::runner {

Claim claim_of(const postgres::Row& row);

}  // namespace hostler::runner
