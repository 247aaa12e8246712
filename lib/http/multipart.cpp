// See lib/http/multipart.h.
#include "lib/http/multipart.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/ascii.h"

namespace hostler::http {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr size_t boundary_bytes_max = 70;  // RFC 2046, section 5.1.1
constexpr size_t padding_bytes_max = 64;   // blanks behind a delimiter

std::string_view trimmed(std::string_view text) { return ascii::trimmed(text, ascii::blanks); }

bool is_boundary(std::string_view text) {
  if (text.empty() || text.size() > boundary_bytes_max || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return ascii::is_letter_or_digit(c) ||
           std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
  });
}

// The value of one parameter, quoted or not, and the text after it. Of the quoted form only \" and
// \\ are escapes, because browsers send other backslashes as they are.
std::optional<std::string> read_value(std::string_view& rest) {
  if (!rest.starts_with('"')) {
    size_t end = std::min(rest.find(';'), rest.size());
    std::string value(trimmed(rest.substr(0, end)));
    rest.remove_prefix(end);
    return value;
  }
  std::string value;
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    bool is_escape =
        rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\');
    value += rest[is_escape ? ++i : i];
  }
  return std::nullopt;
}

struct Parameters {
  std::string type;  // before the first semicolon, in lower case
  std::vector<std::pair<std::string, std::string>> named;

  const std::string* find(std::string_view name) const {
    for (const auto& [known, value] : named) {
      if (known == name) return &value;
    }
    return nullptr;
  }
};

// Returns no parameters when the field is malformed, or has one twice.
std::optional<Parameters> read_parameters(std::string_view field) {
  Parameters read;
  size_t end = std::min(field.find(';'), field.size());
  read.type = ascii::lower_case(trimmed(field.substr(0, end)));
  field.remove_prefix(end);
  while (!field.empty()) {
    field.remove_prefix(1);  // the semicolon
    field = trimmed(field);
    if (field.empty()) break;
    size_t equals = field.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    std::string name = ascii::lower_case(trimmed(field.substr(0, equals)));
    field.remove_prefix(equals + 1);
    field = trimmed(field);
    std::optional<std::string> value = read_value(field);
    field = trimmed(field);
    bool is_good = value && read.find(name) == nullptr && (field.empty() || field.front() == ';');
    if (!is_good) return std::nullopt;
    read.named.emplace_back(std::move(name), std::move(*value));
  }
  return read;
}

// Hexadecimal escapes of RFC 8187's form UTF-8''name; nothing when it is of another form.
std::optional<std::string> extended_value(std::string_view text) {
  constexpr std::string_view charset = "utf-8'";
  if (ascii::lower_case(text.substr(0, charset.size())) != charset) return std::nullopt;
  text.remove_prefix(charset.size());
  size_t quote = text.find('\'');
  if (quote == std::string_view::npos) return std::nullopt;
  text.remove_prefix(quote + 1);
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      value += text[i];
      continue;
    }
    bool has_digits = i + 2 < text.size();
    int high = has_digits ? ascii::hex_value(text[i + 1]) : -1;
    int low = has_digits ? ascii::hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    value += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return value;
}

// The part that a head of header fields names; nothing without a good Content-Disposition.
std::optional<MultipartPart> part_of(std::string_view head) {
  std::optional<Parameters> disposition;
  while (!head.empty()) {
    size_t end = std::min(head.find(line_end), head.size());
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + line_end.size(), head.size()));
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    if (ascii::lower_case(line.substr(0, colon)) != "content-disposition") continue;
    if (disposition) return std::nullopt;
    disposition = read_parameters(line.substr(colon + 1));
    if (!disposition) return std::nullopt;
  }
  if (!disposition || disposition->type != "form-data") return std::nullopt;
  const std::string* name = disposition->find("name");
  if (name == nullptr) return std::nullopt;
  MultipartPart part;
  part.name = *name;
  const std::string* filename = disposition->find("filename");
  if (filename != nullptr) part.filename = *filename;
  const std::string* extended = disposition->find("filename*");
  std::optional<std::string> decoded =
      extended == nullptr ? std::nullopt : extended_value(*extended);
  if (decoded) part.filename = std::move(decoded);
  return part;
}

}  // namespace

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  std::optional<Parameters> read = read_parameters(content_type);
  if (!read || read->type != "multipart/form-data") return std::nullopt;
  const std::string* boundary = read->find("boundary");
  if (boundary == nullptr || !is_boundary(*boundary)) return std::nullopt;
  return *boundary;
}

MultipartReader::MultipartReader(std::string_view boundary)
    : delimiter_(fmt::format("\r\n--{}", boundary)), window_(line_end) {}

void MultipartReader::add(std::string_view bytes) {
  if (state_ == State::done || state_ == State::bad) return;
  window_ += bytes;
  go_on();
}

std::string MultipartReader::finish() {
  if (state_ == State::bad) return fault_;
  if (state_ != State::done) return "The body ends before its last boundary.";
  return {};
}

void MultipartReader::go_on() {
  bool has_more = true;
  while (has_more) {
    switch (state_) {
      case State::body:
        has_more = skip_to_delimiter();
        break;
      case State::delimiter_end:
        has_more = read_delimiter_end();
        break;
      case State::head:
        has_more = read_head();
        break;
      case State::done:
      case State::bad:
        window_.clear();
        return;
    }
  }
}

void MultipartReader::drop(size_t bytes) {
  window_.erase(0, bytes);
  at_ += static_cast<int64_t>(bytes);
}

bool MultipartReader::refuse(std::string fault) {
  fault_ = std::move(fault);
  state_ = State::bad;
  return true;
}

bool MultipartReader::skip_to_delimiter() {
  size_t found = window_.find(delimiter_);
  if (found == std::string::npos) {
    // The possible beginning of a delimiter stays.
    size_t kept = std::min(window_.size(), delimiter_.size() - 1);
    drop(window_.size() - kept);
    return false;
  }
  if (is_in_part_) parts_.back().bytes = at_ + static_cast<int64_t>(found) - parts_.back().offset;
  is_in_part_ = false;
  drop(found + delimiter_.size());
  state_ = State::delimiter_end;
  return true;
}

// Two hyphens end the body; a line end begins a part.
bool MultipartReader::read_delimiter_end() {
  if (window_.size() < 2) return false;
  if (window_.starts_with("--")) {
    state_ = State::done;
    return true;
  }
  size_t blanks = window_.find_first_not_of(" \t");
  if (blanks == std::string::npos || window_.size() < blanks + 2) {
    return window_.size() > padding_bytes_max && refuse("A boundary does not end its line.");
  }
  if (window_.compare(blanks, 2, line_end) != 0) {
    return refuse("A boundary does not end its line.");
  }
  // The line end stays: it is the first half of the empty line of a part without header fields.
  drop(blanks);
  state_ = State::head;
  return true;
}

bool MultipartReader::read_head() {
  size_t end = window_.find("\r\n\r\n");
  if (end == std::string::npos) {
    return window_.size() > head_bytes_max && refuse("The header fields of a part are too long.");
  }
  if (end > head_bytes_max) return refuse("The header fields of a part are too long.");
  std::string_view head(window_);
  std::optional<MultipartPart> part = part_of(head.substr(2, end < 2 ? 0 : end - 2));
  if (!part) return refuse("A part has no good Content-Disposition with a name.");
  if (parts_.size() == parts_max) return refuse("The body has too many parts.");
  drop(end + 4);
  part->offset = at_;
  parts_.push_back(std::move(*part));
  is_in_part_ = true;
  state_ = State::body;
  return true;
}

}  // namespace hostler::http
