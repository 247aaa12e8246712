// Events of a run, for tests of the wire formats; and a format by its name.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/formats/formats.h"
#include "lib/json.h"

namespace hostler::testing_support {

struct Told {
  std::string type;
  std::string data;
};
using Story = std::vector<Told>;

inline const Told completed = {"run.completed", "{}"};
inline Told delta(const std::string& text) {
  return {"message.delta", "{\"content\":" + json_quote(text) + "}"};
}
inline Told thought(const std::string& text) {
  return {"message.delta", "{\"content\":" + json_quote(text) + R"(,"channel":"thinking"})"};
}

inline const formats::Format& format_of(std::string_view name) {
  for (const formats::Format& format : formats::all_formats()) {
    if (format.name == name) return format;
  }
  throw std::runtime_error("no such format");
}

}  // namespace hostler::testing_support
