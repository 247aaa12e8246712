// See lib/formats/formats.h.
#include "lib/formats/formats.h"

#include <array>

#include "lib/formats/agui.h"
#include "lib/formats/native.h"
#include "lib/formats/openai_chat.h"
#include "lib/formats/openai_error.h"
#include "lib/formats/openai_response.h"
#include "lib/formats/ui_messages.h"

namespace hostler::formats {
namespace {

// clang-format off
constexpr const char* event_stream = "text/event-stream";
constexpr const char* json = "application/json";
constexpr const char* ui_field = "x-vercel-ai-ui-message-stream";

//   name                      content type  delivery             usage  encoder                       errors
constexpr std::array<Format, 12> formats{{
    {"native",                 event_stream, Delivery::resumable, false, begin_native,                 nullptr,           nullptr},
    {"openai_chat",            event_stream, Delivery::once,      false, begin_openai_chat,            openai_error_body, openai_error_frames},
    {"openai_chat_usage",      event_stream, Delivery::once,      true,  begin_openai_chat_usage,      openai_error_body, openai_error_frames},
    {"openai_chat_whole",      json,         Delivery::held,      true,  begin_openai_chat_whole,      openai_error_body, nullptr},
    {"openai_response",        event_stream, Delivery::once,      true,  begin_openai_response,        openai_error_body, openai_error_event,
     Start::starting_after},
    {"openai_response_whole",  json,         Delivery::held,      true,  begin_openai_response_whole,  openai_error_body, nullptr},
    {"openai_response_stored", json,         Delivery::held,      true,  begin_openai_response_stored, openai_error_body, nullptr},
    {"agui",                   event_stream, Delivery::once,      true,  begin_agui,                   nullptr, agui_error_frames},
    {"agui_continued",         event_stream, Delivery::once,      true,  begin_agui,                   nullptr, agui_error_frames, Start::last_answer},
    {"ui_chat", event_stream, Delivery::once, true, begin_ui_chat, nullptr, ui_error_frames, Start::first_event, ui_field, "v1"},
    {"ui_chat_go_on", event_stream, Delivery::once, true, begin_ui_chat, nullptr, ui_error_frames, Start::last_input, ui_field, "v1"},
    {"ui_chat_replay", event_stream, Delivery::once, true, begin_ui_chat_replay, nullptr, ui_error_frames, Start::stored, ui_field, "v1"},
}};
// clang-format on

}  // namespace

std::span<const Format> all_formats() { return formats; }

const Format& native_format() { return formats.front(); }

}  // namespace hostler::formats
