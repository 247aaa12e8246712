// See lib/http/logged_path.h.
#include "lib/http/logged_path.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace hostler::http {
namespace {

// The text after the beginning, up to the next slash or colon, is a name. A "*" stands for an id.
struct NamedPath {
  std::string_view beginning;
  std::string_view name;
};
constexpr std::array named_paths{
    NamedPath{"/v1/ui/chat/", "{chat}"}, NamedPath{"/v1/openai/models/", "{model}"},
    NamedPath{"/v1/feature-flags/", "{key}"}, NamedPath{"/v1/mcp-servers/*/tools/", "{tool}"}};

// Decodes percent escapes and keeps those that are malformed.
std::string unescaped(std::string_view path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    uint8_t byte = 0;
    const char* digits = path.data() + i + 1;
    bool is_escape = path[i] == '%' && path.size() - i > 2 &&
                     std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    out += is_escape ? static_cast<char>(byte) : path[i];
    i += is_escape ? 2 : 0;
  }
  return out;
}

// Where the name begins; npos: the path has none.
size_t name_begin(std::string_view path, std::string_view beginning) {
  size_t at = 0;
  for (char c : beginning) {
    if (c == '*') {
      at = path.find('/', at);
      if (at == path.npos) return at;
    } else if (at >= path.size() || path[at++] != c) {
      return path.npos;
    }
  }
  return at < path.size() ? at : path.npos;
}

}  // namespace

std::string logged_path(std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  std::string read = unescaped(path);
  if (read.starts_with("/v1/org-invitations/")) return "/v1/org-invitations/{token}/accept";
  for (const NamedPath& named : named_paths) {
    size_t begin = name_begin(read, named.beginning);
    if (begin == read.npos) continue;
    // A name may have slashes of its own (a model's), so only the parts that routes add are kept
    // after it.
    size_t tail = named.name == "{model}" ? read.npos : read.find_first_of("/:", begin);
    std::string shown = read.substr(0, begin) + std::string(named.name);
    return tail == read.npos ? shown : shown + read.substr(tail);
  }
  return std::string(path);
}

}  // namespace hostler::http
