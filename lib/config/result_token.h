// The Bearer token by which the server of a webhook tool answers one call later: derived from the
// call and a key of the key file, so that nothing is stored of it. It stays good when a newer key
// is put into the file, as long as its own is there.
//
//   hrt_VERSION_CALL_MAC   the key's version; the call's id; 32 bytes in base64url
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/config/secret_box.h"

namespace hostler::config {

std::string make_result_token(const SecretBox& secrets, std::string_view run_id,
                              std::string_view tool_call_id);

// Whether an Authorization header has one, valid or not.
bool is_result_token(std::string_view authorization);

// The call of this run that the header's token is for; nothing when it is for none.
std::optional<std::string> call_of_result_token(const SecretBox& secrets, std::string_view run_id,
                                                std::string_view authorization);

}  // namespace hostler::config
