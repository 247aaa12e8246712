// One call of each route that writes, for tests of what an end stops.
#pragma once

#include <string_view>
#include <vector>

namespace hostler::testing_support {

// A route that writes for its caller, and a call of it that has an effect. In path and body,
// {names} stand for the fixture's values.
struct WritingCall {
  std::string_view route;
  std::string_view body;   // empty: none
  std::string_view query;  // behind the path
};

const std::vector<WritingCall>& writing_calls();

}  // namespace hostler::testing_support
