// Streams of a model of OpenAI's kind, for scripted servers.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace hostler::testing_support {

inline std::string text_event(std::string_view text) {
  return R"(data: {"choices":[{"index":0,"delta":{"content":")" + std::string(text) + "\"}}]}\n\n";
}
inline const std::string stop_event =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
inline const std::string done_event = "data: [DONE]\n\n";
inline const std::string stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
inline const std::string stream_end = "0\r\n\r\n";

inline std::string chunk(std::string_view bytes) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + std::string(bytes) + "\r\n";
}

}  // namespace hostler::testing_support
