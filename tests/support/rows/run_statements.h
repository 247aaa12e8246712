// What a daemon and a human write of a run, for tests to whom most of its parameters are one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "queries/daemon.h"
#include "queries/runs.h"

namespace hostler::testing_support {

inline postgres::BoundStatement append_of(const std::string& daemon_id, const std::string& run_id,
                                          int64_t epoch, int64_t seq, const std::string& type) {
  return query::EventAppend{.daemon_id = daemon_id,
                            .run_ids = std::vector{run_id},
                            .epochs = std::vector{epoch},
                            .positions = std::vector<int64_t>{1},
                            .seqs = std::vector{seq},
                            .types = std::vector{type},
                            .data = std::vector<std::string>{"{}"}};
}

inline postgres::BoundStatement turn_of(const std::string& daemon_id, const std::string& run_id,
                                        int64_t epoch, int64_t input_tokens,
                                        int64_t output_tokens) {
  return query::RunTurnCommit{.daemon_id = daemon_id,
                              .run_id = run_id,
                              .epoch = epoch,
                              .turn = 1,
                              .text = "t",
                              .tool_calls = "[]",
                              .last_seq = 2,
                              .input_tokens = input_tokens,
                              .output_tokens = output_tokens,
                              .cache_read_tokens = 0,
                              .cache_write_tokens = 0,
                              .measured = true,
                              .finished = true,
                              .credit_per_usd = 1000,
                              .credit_run_hold = 10};
}

inline postgres::BoundStatement input_of(const std::string& run_id, const std::string& content,
                                         const std::optional<std::string>& decision,
                                         const std::optional<std::string>& arguments,
                                         const std::optional<std::string>& reason,
                                         const std::string& fault) {
  return query::RunInput{.run_id = run_id,
                         .content = content,
                         .limit_input_bytes = 100,
                         .decision = decision,
                         .arguments = arguments,
                         .reason = reason,
                         .fault = fault};
}

}  // namespace hostler::testing_support
