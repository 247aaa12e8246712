// Sentences of a prompt about the form of the answer, if the provider has no mode of its own. The
// agent loop uses them for providers without such a mode, and requests use them for models that
// refuse theirs.
#pragma once

#include <string>

#include "runner/models/model.h"

namespace hostler {

// For any object, or for the schema.
std::string answer_form_words(const ResponseFormat& format);
// Purpose of the answer, empty if none was given.
std::string answer_purpose_words(const ResponseFormat& format);

// Text for the system text of a request whose model refuses the provider's mode, on which the
// prompt relied. Empty if the prompt already has it.
std::string replaced_mode_words(const ModelRequest& request);

}  // namespace hostler
