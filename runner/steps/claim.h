// Facts about a run that a daemon got when it claimed it. They do not change while the daemon has
// the run.
#pragma once

#include <cstdint>
#include <string>

namespace hostler::runner {

struct Claim {
  std::string id;
  std::string org_id;
  std::string thread_id;
  std::string persona_id;
  std::string model;
  std::string source;
  std::string user_id;  // who created it
  std::string trace_id;
  int64_t epoch = 0;
  int crash_count = 0;
  int take_overs = 0;
  int trials = 0;  // crashes in a row of daemons where it was on trial, see runner/agent/trials.h
  int64_t worked_ms = 0;
  // A request whose protocol cannot ask anybody gave the run its whole history.
  bool has_own_history = false;
  bool is_hidden = false;      // its thread, which keeps no message
  bool after_input = false;    // goes on behind a human's answer: nothing is taken over
  int64_t last_seq = 0;        // of its events so far; 0: it is new
  int64_t turns = 0;           // that were paid for; 0: there are no steps to go on from
  int64_t context_tokens = 0;  // of its model
  int64_t event_bytes = 0;     // of its events so far
  int64_t result_bytes = 0;    // of the results of its tools so far

  // It was begun in a form in which nobody waits for it to ask: no person is asked, and a call of
  // a function tool is its end.
  bool asks_nobody() const { return source == "openai"; }
};

}  // namespace hostler::runner
