// What a user says, as requests carry it. Used by the handlers that store a message.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

// The member content, which must be there: 1 byte to 64 KiB, not blank. Faults go to those of the
// body.
std::string read_message_content(Fields& fields);

struct MessageContent {
  std::string text;                  // its texts, joined by line feeds; empty of images alone
  std::optional<std::string> parts;  // JSON text of what it was sent as; nothing: the text is all
};

// The same, or an array of 1 to 20 parts of type text and image. Texts together have at most
// 64 KiB, and are not blank unless there is an image.
MessageContent read_message_parts(Fields& fields);

}  // namespace hostler
