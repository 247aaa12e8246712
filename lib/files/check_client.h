// Asks hostler-files about one file (lib/files/check_protocol.h). Used by the pool for the type and
// by the daemon for the rest. Never blocks the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/files/check_protocol.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"

namespace hostler::files {

struct CheckOutcome {
  enum class Kind {
    answered,
    away,    // nobody listens there, or the queue is full: to be tried again
    broken,  // the process ended without an answer, or with one that cannot be
    late,    // the limit passed
    gone,    // the file's bytes ended early: it was deleted meanwhile
  };
  Kind kind = Kind::away;
  CheckAnswer answer;
  std::string derived;  // of an image
};

// The next bytes of the file, in their order; empty: there are no more.
using NextBytes = std::function<Task<std::string>()>;

// path: files.socket. next outlives the task.
Task<CheckOutcome> check_file(loop::Loop& loop, std::string path, CheckRequest request,
                              const NextBytes& next, int64_t limit_ms);

}  // namespace hostler::files
