// The table of words with which providers end an answer. Called by the readers of both wire forms.
#pragma once

#include <string_view>

#include "runner/models/model.h"

namespace hostler {

struct NamedFinish {
  FinishReason reason = FinishReason::stop;
  bool is_fault = false;  // the provider failed: such a word never completes a turn
  bool is_known = false;  // the table has the word; else its parts were judged
};

// Upper and lower case are the same. The word is not empty.
NamedFinish finish_named(std::string_view word);

}  // namespace hostler
