// See runner/oauth/challenge.h.
#include "runner/oauth/challenge.h"

#include <algorithm>
#include <utility>

#include "lib/ascii.h"

namespace hostler::runner {
namespace {

constexpr size_t header_bytes_max = 8192;

// The field's value, from left to right.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text.substr(0, header_bytes_max)) {}

  void skip(std::string_view characters) {
    while (!rest_.empty() && characters.find(rest_.front()) != characters.npos) {
      rest_.remove_prefix(1);
    }
  }
  bool is_at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view token() {
    size_t end = 0;
    while (end < rest_.size() && ascii::is_token_character(rest_[end])) ++end;
    std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }
  // A token or a quoted string; nothing: neither stands here.
  std::optional<std::string> value() {
    if (!take('"')) {
      std::string_view plain = token();
      if (plain.empty()) return std::nullopt;
      return std::string(plain);
    }
    std::string text;
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (c == '\\' && !rest_.empty()) {
        c = rest_.front();
        rest_.remove_prefix(1);
      }
      text += c;
    }
    return std::nullopt;
  }

 private:
  std::string_view rest_;
};

void take_parameter(Challenge& challenge, std::string_view name, std::string value) {
  if (name == "resource_metadata" && challenge.resource_metadata.empty()) {
    challenge.resource_metadata = std::move(value);
  } else if (name == "scope" && !challenge.scopes) {
    challenge.scopes = read_scopes(value);
  } else if (name == "error" && challenge.error.empty()) {
    challenge.error = std::move(value);
  }
}

}  // namespace

std::vector<std::string> read_scopes(std::string_view text) {
  std::vector<std::string> scopes;
  while (!text.empty() && scopes.size() < scopes_max) {
    std::string_view scope = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), scope.size() + 1));
    // RFC 6749, section 3.3.
    bool is_sound = !scope.empty() && scope.size() <= scope_bytes_max &&
                    std::all_of(scope.begin(), scope.end(), [](char c) {
                      return c > ' ' && c <= '~' && c != '"' && c != '\\';
                    });
    bool is_new = std::find(scopes.begin(), scopes.end(), scope) == scopes.end();
    if (is_sound && is_new) scopes.emplace_back(scope);
  }
  return scopes;
}

Challenge read_challenge(std::string_view www_authenticate) {
  Challenge challenge;
  FieldReader field(www_authenticate);
  bool is_ours = false;
  for (;;) {
    field.skip(" \t,");
    std::string name = ascii::lower_case(field.token());
    if (name.empty()) return challenge;
    field.skip(" \t");
    if (!field.take('=')) {  // the next challenge's scheme
      if (challenge.is_bearer) return challenge;
      is_ours = name == "bearer";
      challenge.is_bearer = is_ours;
      continue;
    }
    field.skip(" \t");
    std::optional<std::string> value = field.value();
    if (!value) return challenge;
    if (is_ours) take_parameter(challenge, name, std::move(*value));
  }
}

}  // namespace hostler::runner
