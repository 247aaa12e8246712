// SCGI requests read; see sse-relay/scgi_request.h.
#include "sse-relay/scgi_request.h"

#include <algorithm>
#include <array>

namespace hostler::relay {
namespace {

struct Parameter {
  std::string_view name;
  std::string_view ScgiRequest::*value;
};

// A second Authorization or cursor would leave open which of them counts: none may come twice.
constexpr std::array<Parameter, 14> parameters{
    {{"REQUEST_METHOD", &ScgiRequest::method},
     {"REQUEST_URI", &ScgiRequest::uri},
     {"HTTP_AUTHORIZATION", &ScgiRequest::authorization},
     {"HTTP_LAST_EVENT_ID", &ScgiRequest::last_event_id},
     {"HTTP_X_ORG_ID", &ScgiRequest::org_id},
     {"HTTP_ORIGIN", &ScgiRequest::origin},
     {"REMOTE_ADDR", &ScgiRequest::peer},
     {"HTTP_X_FORWARDED_FOR", &ScgiRequest::forwarded_for},
     {"HTTP_CF_CONNECTING_IP", &ScgiRequest::connecting_ip},
     {"HTTP_TRACEPARENT", &ScgiRequest::traceparent},
     {"HTTP_USER_AGENT", &ScgiRequest::user_agent},
     {"TRACE_ID", &ScgiRequest::trace_id},
     {"HOSTLER_RUN", &ScgiRequest::run_id},
     {"HOSTLER_FORMAT", &ScgiRequest::format}}};

constexpr size_t length_digits_max = 5;  // of pairs_bytes_max

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

ScgiReader::State ScgiReader::fail(const char* why) {
  fault_ = why;
  state_ = State::broken;
  pairs_ = {};
  request_ = {};
  return state_;
}

// False when the netstring's length is not whole yet, or broken.
bool ScgiReader::take_length(std::string_view& bytes) {
  while (!bytes.empty()) {
    char c = bytes.front();
    bytes.remove_prefix(1);
    if (c == ':' && digits_ > 0) {
      has_length_ = true;
      return true;
    }
    bool is_digit = c >= '0' && c <= '9' && (c != '0' || digits_ > 0);
    if (!is_digit || ++digits_ > length_digits_max) {
      fail("the netstring has no length");
      return false;
    }
    pairs_bytes_ = pairs_bytes_ * 10 + static_cast<size_t>(c - '0');
  }
  return false;
}

ScgiReader::State ScgiReader::take(std::string_view bytes) {
  if (state_ != State::more) return state_;
  if (!has_length_) {
    if (!take_length(bytes)) return state_;
    if (pairs_bytes_ > pairs_bytes_max) return fail("the parameters are too long");
    pairs_.reserve(pairs_bytes_ + 1);
  }
  size_t missing = pairs_bytes_ + 1 - pairs_.size();
  pairs_.append(bytes.substr(0, missing));
  if (bytes.size() < missing) return state_;
  return read_pairs();
}

ScgiReader::State ScgiReader::read_pairs() {
  if (pairs_.back() != ',') return fail("the netstring does not end");
  std::string_view rest(pairs_.data(), pairs_bytes_);
  bool is_first = true;
  bool is_scgi = false;
  while (!rest.empty()) {
    size_t name_end = rest.find('\0');
    size_t value_end =
        name_end == std::string_view::npos ? name_end : rest.find('\0', name_end + 1);
    if (value_end == std::string_view::npos) return fail("a parameter does not end");
    std::string_view name = rest.substr(0, name_end);
    std::string_view value = rest.substr(name_end + 1, value_end - name_end - 1);
    rest.remove_prefix(value_end + 1);
    if (name.empty()) return fail("a parameter has no name");
    if (is_first && (name != "CONTENT_LENGTH" || !is_number(value))) {
      return fail("CONTENT_LENGTH does not come first");
    }
    is_first = false;
    if (name == "SCGI") is_scgi = value == "1";
    if (name == "HTTPS") request_.is_tls = value == "on";
    if (!store(name, value)) return fail("a parameter comes twice");
  }
  if (!is_scgi) return fail("this is not SCGI");
  if (request_.method.empty() || request_.uri.empty()) return fail("there is no request line");
  state_ = State::whole;
  return state_;
}

bool ScgiReader::store(std::string_view name, std::string_view value) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name != name) continue;
    if ((seen_ & (1U << i)) != 0) {
      if (parameters[i].value != &ScgiRequest::connecting_ip) return false;
      value = "twice";  // no address, so it counts for nothing
    }
    seen_ |= 1U << i;
    request_.*parameters[i].value = value;
    return true;
  }
  return true;
}

}  // namespace hostler::relay
