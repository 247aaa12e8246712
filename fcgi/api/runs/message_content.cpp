// See fcgi/api/runs/message_content.h.
#include "fcgi/api/runs/message_content.h"

#include "lib/blank_text.h"

namespace hostler {
namespace {

constexpr TextBounds content_bounds{.min = 1, .bytes_max = 64 << 10, .takes_control = true};

}  // namespace

std::string read_message_content(Fields& fields) {
  std::string content = fields.required_text("content", content_bounds);
  if (!content.empty() && is_blank_text(content)) {
    fields.fault("content", "required", "must contain more than white space");
  }
  return content;
}

}  // namespace hostler
