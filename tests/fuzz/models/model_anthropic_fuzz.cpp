// Anthropic's streams and documents, and requests in that form; see
// tests/fuzz/models/model_stream.h.
#include "runner/models/anthropic.h"
#include "tests/fuzz/models/model_stream.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {

void model_anthropic(std::string_view input) {
  read_stream(ProviderKind::anthropic, input);
  check_request(anthropic_request(request_of(ProviderKind::anthropic, input)));
}

}  // namespace hostler::fuzz
