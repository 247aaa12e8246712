// OpenAI's streams and documents, and requests in that form; see tests/fuzz/models/model_stream.h.
#include "runner/models/openai.h"
#include "tests/fuzz/models/model_stream.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {

void model_openai(std::string_view input) {
  read_stream(ProviderKind::openai, input);
  check_request(openai_request(request_of(ProviderKind::openai, input)));
}

}  // namespace hostler::fuzz
