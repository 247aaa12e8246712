// Runs a program to its end and takes what it said. For tests of the binaries as shipped.
#pragma once

#include <string>
#include <vector>

namespace hostler::testing_support {

struct ProgramRun {
  int status = -1;  // exit status; 128 + number when a signal ended it
  std::string out;
  std::string err;
};

// The folder of the programs under test: TEST_BUILD, else where the test program lies.
std::string build_folder();

// environment (NAME=value) is laid over the test's own, of which HOSTLER_… and PG… variables are
// left out. A program that does not end within a minute is killed.
ProgramRun run_program(const std::vector<std::string>& command,
                       const std::vector<std::string>& environment = {},
                       const std::string& input = "");

// hostlerctl of the build under test.
ProgramRun run_ctl(std::vector<std::string> arguments,
                   const std::vector<std::string>& environment = {}, const std::string& input = "");

}  // namespace hostler::testing_support
