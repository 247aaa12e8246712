// Another program run to its end: pg_dump, nginx, openssl. No shell, no words but ours. For ctl.
#pragma once

#include <string>
#include <vector>

namespace hostler {

struct SubprocessRun {
  int status = -1;  // exit status; 127: the program is not there; -1: it did not end by itself
  std::string out;  // standard output, when it was asked for
};

// words: the program, looked up in PATH and where root's are, and its arguments. Its standard
// input and error are ours, or nothing when the output is kept.
SubprocessRun run_subprocess(const std::vector<std::string>& words, bool keep_output);

}  // namespace hostler
