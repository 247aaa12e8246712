// Statements of a daemon and a human about a run, for tests for which most of its parameters are
// the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/search_words.h"
#include "queries/daemon.h"
#include "queries/runs.h"

namespace hostler::testing_support {

inline postgres::BoundStatement append_of(const std::string& daemon_id, const std::string& run_id,
                                          int64_t epoch, int64_t seq, const std::string& type) {
  return query::EventAppendAgain{.daemon_id = daemon_id,
                                 .run_ids = std::vector{run_id},
                                 .epochs = std::vector{epoch},
                                 .positions = std::vector<int64_t>{1},
                                 .seqs = std::vector{seq},
                                 .types = std::vector{type},
                                 .data = std::vector<std::string>{"{}"}};
}

// A turn of a run, or its end, or both: as runs_commit takes them of many.
struct OneCommit {
  std::string daemon_id;
  std::string run_id;
  int64_t epoch = 0;
  int64_t last_seq = 1;
  int64_t turn = 0;  // 0: none
  std::string text = "text";
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  int64_t cache_read_tokens = 0;
  bool is_finished = true;
  std::string status = "";  // empty: it goes on
  std::string code = "";
  std::string message = "";
  std::string answer = "";
  int64_t event_bytes = 0;  // of all so far
};

// Ids of runs of one daemon, in order.
inline postgres::BoundStatement flight_of(const std::vector<OneCommit>& commits) {
  auto all = [&commits]<class Of>(Of of) {
    std::vector<std::decay_t<decltype(of(commits.front()))>> values;
    for (const OneCommit& commit : commits) values.push_back(of(commit));
    return values;
  };
  using One = const OneCommit&;
  return query::RunsCommit{
      .daemon_id = commits.front().daemon_id,
      .run_ids = all([](One one) { return one.run_id; }),
      .epochs = all([](One one) { return one.epoch; }),
      .last_seqs = all([](One one) { return one.last_seq; }),
      .turns = all([](One one) { return one.turn; }),
      .parts = all([](One one) {
        bool is_stored = one.is_finished && one.status.empty();
        return is_stored ? R"([{"type":"text","text":")" + one.text + R"("}])" : std::string();
      }),
      .input_tokens = all([](One one) { return one.input_tokens; }),
      .output_tokens = all([](One one) { return one.output_tokens; }),
      .cache_read_tokens = all([](One one) { return one.cache_read_tokens; }),
      .cache_write_tokens = all([](One) { return int64_t{0}; }),
      .measured = all([](One one) { return one.is_finished; }),
      .credits_per_usd = all([](One) { return int64_t{1000}; }),
      .run_holds = all([](One) { return int64_t{10}; }),
      .statuses = all([](One one) { return one.status; }),
      .codes = all([](One one) { return one.code; }),
      .messages = all([](One one) { return one.message; }),
      .answers = all([](One one) { return one.answer; }),
      .words = all([](One one) { return search_words(one.answer); }),
      .incomplete = all([](One one) { return one.status != "completed"; }),
      .event_bytes = all([](One one) { return one.event_bytes; }),
      .result_bytes = all([](One) { return int64_t{0}; }),
  };
}

inline postgres::BoundStatement commit_of(const OneCommit& commit) { return flight_of({commit}); }

// Whether the run was the daemon's.
inline bool is_held(const postgres::Result& committed) { return !committed.empty(); }

inline postgres::BoundStatement input_of(const std::string& run_id, const std::string& content,
                                         const std::optional<std::string>& decision,
                                         const std::optional<std::string>& arguments,
                                         const std::optional<std::string>& reason,
                                         const std::optional<std::string>& fault) {
  return query::RunInput{.run_id = run_id,
                         .content = content,
                         .limit_input_bytes = 100,
                         .decision = decision,
                         .arguments = arguments,
                         .reason = reason,
                         .fault = fault,
                         .json_offset = std::nullopt,
                         .json_found = std::nullopt,
                         .request_id = std::nullopt};
}

}  // namespace hostler::testing_support
