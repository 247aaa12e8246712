// The request parser of http_message.h: strict where framing could be read in two ways, else plain.
#include "dev/fake-model/http_message.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "lib/ascii.h"

namespace hostler::fake_model {
namespace {

bool is_target(std::string_view text) {
  if (text.empty() || text.front() != '/') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != 0x7f; });
}

std::optional<size_t> whole_number(std::string_view text, int base) {
  size_t number = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::string_view> HttpRequest::field(std::string_view name) const {
  for (const HeaderField& entry : fields) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      int high = ascii::hex_value(text[i + 1]);
      int low = ascii::hex_value(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        continue;
      }
    }
    out.push_back(text[i]);
  }
  return out;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decoded(pair.substr(0, equals)) != name) continue;
    std::string value(equals < pair.size() ? pair.substr(equals + 1) : std::string_view());
    std::replace(value.begin(), value.end(), '+', ' ');
    return percent_decoded(value);
  }
  return std::nullopt;
}

RequestReader::State RequestReader::next(HttpRequest& request) {
  if (refusal_status_ != 0) return State::refused;
  while (!whole_) {
    State state = part_ == Part::head ? read_head() : read_body();
    if (state != State::complete) return state;
  }
  whole_ = false;
  wants_continue_ = false;
  part_ = Part::head;
  scanned_ = 0;
  request = std::exchange(request_, HttpRequest());
  buffer_.erase(0, taken_);
  taken_ = 0;
  return State::complete;
}

bool RequestReader::take_continue() { return std::exchange(wants_continue_, false); }

RequestReader::State RequestReader::refuse(int status, std::string why) {
  refusal_status_ = status;
  refusal_ = std::move(why);
  return State::refused;
}

RequestReader::State RequestReader::read_head() {
  // Empty lines before a request are allowed (RFC 9112, section 2.2).
  while (scanned_ == 0 && buffer_.compare(taken_, 2, "\r\n") == 0) taken_ += 2;
  std::string_view rest = std::string_view(buffer_).substr(taken_);
  size_t end = rest.find("\r\n\r\n", scanned_ > 3 ? scanned_ - 3 : 0);
  if (end == std::string_view::npos) {
    scanned_ = rest.size();
    if (rest.size() > head_bytes_max) return refuse(431, "the head is longer than 64 KiB");
    return State::needs_more;
  }
  if (end + 4 > head_bytes_max) return refuse(431, "the head is longer than 64 KiB");
  State state = read_head_lines(rest.substr(0, end + 2));
  if (state != State::complete) return state;
  taken_ += end + 4;
  return choose_body();
}

RequestReader::State RequestReader::read_head_lines(std::string_view head) {
  size_t end = head.find("\r\n");
  std::string_view line = head.substr(0, end);
  head.remove_prefix(end + 2);
  size_t first = line.find(' ');
  size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return refuse(400, "bad request line");
  std::string_view target = line.substr(first + 1, last - first - 1);
  std::string_view version = line.substr(last + 1);
  if (!ascii::is_token(line.substr(0, first)) || !is_target(target)) {
    return refuse(400, "bad method or target");
  }
  if (version != "HTTP/1.1") return refuse(505, "HTTP/1.1 only");
  request_.method = line.substr(0, first);
  request_.target = target;
  request_.path = target.substr(0, target.find('?'));
  if (size_t mark = target.find('?'); mark != std::string_view::npos) {
    request_.query = target.substr(mark + 1);
  }
  while (!head.empty()) {
    end = head.find("\r\n");
    line = head.substr(0, end);
    head.remove_prefix(end + 2);
    size_t colon = line.find(':');
    if (colon == std::string_view::npos || !ascii::is_token(line.substr(0, colon))) {
      return refuse(400, "bad header line");
    }
    std::string_view value = ascii::trimmed(line.substr(colon + 1), ascii::blanks);
    request_.fields.push_back({ascii::lower_case(line.substr(0, colon)), std::string(value)});
  }
  return State::complete;
}

RequestReader::State RequestReader::choose_body() {
  std::optional<std::string_view> connection = request_.field("connection");
  if (connection) {
    std::string wish = ascii::lower_case(*connection);
    if (wish.find("close") != std::string::npos) request_.keep_alive = false;
  }
  std::optional<std::string_view> expect = request_.field("expect");
  wants_continue_ = expect && ascii::lower_case(*expect) == "100-continue";

  std::optional<std::string_view> coding = request_.field("transfer-encoding");
  std::optional<std::string_view> length = request_.field("content-length");
  if (coding) {
    if (length) return refuse(400, "Content-Length beside Transfer-Encoding");
    if (ascii::lower_case(*coding) != "chunked")
      return refuse(501, "only the chunked coding is known");
    part_ = Part::chunk_size;
    return State::complete;
  }
  std::optional<size_t> bytes = length ? whole_number(*length, 10) : 0;
  if (!bytes) return refuse(400, "bad Content-Length");
  if (*bytes > body_bytes_max) return refuse(413, "the body is longer than 8 MiB");
  missing_bytes_ = *bytes;
  part_ = Part::sized_body;
  return State::complete;
}

RequestReader::State RequestReader::read_body() {
  switch (part_) {
    case Part::head:
      break;
    case Part::sized_body:
      if (buffered_bytes() < missing_bytes_) return State::needs_more;
      request_.body.assign(buffer_, taken_, missing_bytes_);
      taken_ += missing_bytes_;
      whole_ = true;
      break;
    case Part::chunk_size:
      return read_chunk_size();
    case Part::chunk_bytes:
      return read_chunk_bytes();
    case Part::chunk_end:
      return read_chunk_end();
    case Part::trailers:
      return read_trailers();
  }
  return State::complete;
}

RequestReader::State RequestReader::read_chunk_size() {
  std::optional<std::string_view> line = take_line(256);
  if (!line) {
    return buffered_bytes() > 256 ? refuse(400, "chunk line too long") : State::needs_more;
  }
  std::optional<size_t> bytes =
      whole_number(ascii::trimmed(line->substr(0, line->find(';')), ascii::blanks), 16);
  if (!bytes) return refuse(400, "bad chunk size");
  if (*bytes > body_bytes_max || request_.body.size() + *bytes > body_bytes_max) {
    return refuse(413, "the body is longer than 8 MiB");
  }
  missing_bytes_ = *bytes;
  part_ = *bytes == 0 ? Part::trailers : Part::chunk_bytes;
  return State::complete;
}

RequestReader::State RequestReader::read_chunk_bytes() {
  size_t bytes = std::min(missing_bytes_, buffered_bytes());
  request_.body.append(buffer_, taken_, bytes);
  taken_ += bytes;
  missing_bytes_ -= bytes;
  if (missing_bytes_ > 0) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    return State::needs_more;
  }
  part_ = Part::chunk_end;
  return State::complete;
}

RequestReader::State RequestReader::read_chunk_end() {
  if (buffered_bytes() < 2) return State::needs_more;
  if (buffer_.compare(taken_, 2, "\r\n") != 0) return refuse(400, "bad end of a chunk");
  taken_ += 2;
  part_ = Part::chunk_size;
  return State::complete;
}

RequestReader::State RequestReader::read_trailers() {
  std::optional<std::string_view> line = take_line(head_bytes_max);
  if (!line) {
    return buffered_bytes() > head_bytes_max ? refuse(431, "trailers too long") : State::needs_more;
  }
  whole_ = line->empty();
  return State::complete;
}

std::optional<std::string_view> RequestReader::take_line(size_t bytes_max) {
  std::string_view rest = std::string_view(buffer_).substr(taken_, bytes_max + 2);
  size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  taken_ += end + 2;
  return rest.substr(0, end);
}

}  // namespace hostler::fake_model
