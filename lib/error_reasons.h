// Meaning of an error that a function of ours raised in the database. SQL names a code, which
// occurrence of it (the reason), and facts. The words, the field at fault, a second status and
// Retry-After are here. Called by lib/postgres/errors.cpp. tests/style compares the table with SQL.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lib/error.h"

namespace hostler {

// In sentence, field and retry_after "{name}" is the fact of that name, "{{" and "}}" are braces.
struct ErrorReason {
  struct Further {
    std::string_view field = {};  // of the input, with fault its code: the sentence's message
    std::string_view fault = {};
    std::string_view retry_after = {};  // seconds
    std::string_view shown = {};        // the fact that is a member of the problem document, too
    int status = 0;                     // where it is not the code's
  };
  ErrorCode code;
  std::string_view name;
  std::string_view sentence;  // the detail; empty: the code's title serves
  Further further = {};
};

std::span<const ErrorReason> error_reasons();
// Names of the facts that the words of a reason need, each once, in the order of the alphabet.
std::vector<std::string_view> facts_of(const ErrorReason& reason);

// raised: "code" or "code reason". facts: a JSON object. What is not in the tables, or lacks a fact
// that its words need, is our own mistake: internal_error, whose cause names it.
Error error_of_reason(std::string_view raised, std::string_view facts);

}  // namespace hostler
