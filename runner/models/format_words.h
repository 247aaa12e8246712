// What a prompt says of the form of the answer where the provider's own mode does not. Used by the
// agent loop for providers without such a mode, and by requests to models that refuse theirs.
#pragma once

#include <string>

#include "runner/models/model.h"

namespace hostler {

// For any object, or for the schema.
std::string answer_form_words(const ResponseFormat& format);
// What the answer is for; empty: nobody said.
std::string answer_purpose_words(const ResponseFormat& format);

// What the request says in its system text because the model refuses the provider's mode, which the
// prompt relied upon; empty: the prompt says it.
std::string replaced_mode_words(const ModelRequest& request);

}  // namespace hostler
