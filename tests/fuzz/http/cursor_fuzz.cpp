// Cursors of event streams: the first line is Last-Event-ID, the second the query. What is taken is
// the larger of two whole numbers; anything else is a fault that names its field.
#include <charconv>

#include "lib/http/request_target.h"
#include "sse-relay/stream_request.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

// By hand, as the contract says it: digits, and a minus for what is out of range.
std::optional<int64_t> plain_number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  unsigned __int128 value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > static_cast<unsigned __int128>(INT64_MAX)) return std::nullopt;
  }
  return static_cast<int64_t>(value);
}

}  // namespace

void cursor(std::string_view input) {
  std::string last_event_id(take_line(input));
  std::string uri = "/v1/runs/018f0000-0000-7000-8000-000000000000/events?" + std::string(input);
  std::string token = "Bearer hat_" + std::string(43, 'a');
  relay::ScgiRequest request;
  request.method = "GET";
  request.uri = uri;
  request.authorization = token;
  request.last_event_id = last_event_id;
  relay::StreamRequest wanted;
  std::optional<Error> refusal =
      refusal_of([&] { wanted = relay::read_stream_request(request, formats::native_format()); });
  if (refusal) {
    require(refusal->status() == 400, "only the address can be refused here");
    return;
  }
  http::Target target;
  http::parse_target(uri, target);
  const std::string* after_seq = target.query_value("after_seq");
  int64_t expected = 0;
  bool is_bad = false;
  if (after_seq != nullptr) {
    is_bad = !plain_number(*after_seq);
    expected = plain_number(*after_seq).value_or(0);
  }
  if (!last_event_id.empty()) {
    is_bad = is_bad || !plain_number(last_event_id);
    expected = std::max(expected, plain_number(last_event_id).value_or(0));
  }
  require(!is_bad || !wanted.faults.empty(), "a bad cursor is a fault");
  require(wanted.after == expected, "the larger cursor counts");
  require(wanted.has_last_event_id == !last_event_id.empty(), "EventSource is known by its field");
  for (const FieldFault& fault : wanted.faults) {
    bool is_ours =
        fault.field == "after_seq" || fault.field == "Last-Event-ID" || fault.field == "follow";
    require(is_ours || (fault.code == "unknown" && target.query_value(fault.field) != nullptr),
            "a fault names its field");
  }
}

}  // namespace hostler::fuzz
