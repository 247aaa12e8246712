// Members of requests in OpenAI's forms that would change the answer and cannot be honoured: they
// are refused by their names, in words that tell what there is in their place. What asks for
// nothing beyond what is done anyway is taken. Used by chat_completions.cpp and
// response_request.cpp beside it.
#pragma once

#include <span>
#include <string_view>

#include "fcgi/http/input.h"

namespace hostler {

struct UnsupportedMember {
  std::string_view name;
  std::string_view message = "is not supported here";
};

// The faults are added to the fields'.
void refuse_members(Fields& fields, std::span<const UnsupportedMember> members);

}  // namespace hostler
