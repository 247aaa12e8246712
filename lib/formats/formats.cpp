// See lib/formats/formats.h.
#include "lib/formats/formats.h"

#include <array>

#include "lib/formats/native.h"
#include "lib/formats/openai_chat.h"
#include "lib/formats/openai_error.h"
#include "lib/formats/openai_response.h"

namespace hostler::formats {
namespace {

// clang-format off
constexpr const char* event_stream = "text/event-stream";
constexpr const char* json = "application/json";

//   name                         content type  delivery             usage  encoder                          errors
constexpr std::array<Format, 10> formats{{
    {"native",                    event_stream, Delivery::resumable, false, begin_native,                    nullptr,           nullptr},
    {"openai_chat",               event_stream, Delivery::once,      false, begin_openai_chat,               openai_error_body, openai_error_frames},
    {"openai_chat_usage",         event_stream, Delivery::once,      true,  begin_openai_chat_usage,         openai_error_body, openai_error_frames},
    {"openai_chat_checked",       event_stream, Delivery::once,      false, begin_openai_chat_checked,       openai_error_body, openai_error_frames},
    {"openai_chat_checked_usage", event_stream, Delivery::once,      true,  begin_openai_chat_checked_usage, openai_error_body, openai_error_frames},
    {"openai_chat_whole",         json,         Delivery::held,      true,  begin_openai_chat_whole,         openai_error_body, nullptr},
    {"openai_response",           event_stream, Delivery::once,      true,  begin_openai_response,           openai_error_body, openai_error_event,
     Start::starting_after},
    {"openai_response_checked",   event_stream, Delivery::once,      true,  begin_openai_response_checked,   openai_error_body, openai_error_event,
     Start::starting_after},
    {"openai_response_whole",     json,         Delivery::held,      true,  begin_openai_response_whole,     openai_error_body, nullptr},
    {"openai_response_stored",    json,         Delivery::held,      true,  begin_openai_response_stored,    openai_error_body, nullptr},
}};
// clang-format on

}  // namespace

std::span<const Format> all_formats() { return formats; }

const Format& native_format() { return formats.front(); }

}  // namespace hostler::formats
