// SCGI from nginx: the first byte says how the rest is cut into pieces. The reader comes to the
// same end however it was cut, and what it read is part of what came.
#include "sse-relay/scgi_request.h"

#include "lib/client/gateway.h"
#include "lib/error.h"
#include "sse-relay/stream_request.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

using relay::ScgiReader;
using relay::ScgiRequest;

ScgiReader::State feed(ScgiReader& reader, std::string_view bytes, size_t piece_bytes) {
  ScgiReader::State state = ScgiReader::State::more;
  while (!bytes.empty() && state == ScgiReader::State::more) {
    state = reader.take(bytes.substr(0, piece_bytes));
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
  }
  return state;
}

void check_request(const ScgiRequest& request, const ScgiRequest& other, std::string_view bytes) {
  require(!request.method.empty() && !request.uri.empty(), "a request has its line");
  for (auto member :
       {&ScgiRequest::method, &ScgiRequest::uri, &ScgiRequest::authorization,
        &ScgiRequest::last_event_id, &ScgiRequest::org_id, &ScgiRequest::origin, &ScgiRequest::peer,
        &ScgiRequest::forwarded_for, &ScgiRequest::connecting_ip, &ScgiRequest::traceparent,
        &ScgiRequest::user_agent, &ScgiRequest::trace_id}) {
    require(request.*member == other.*member, "pieces change nothing");
    bool is_twice = member == &ScgiRequest::connecting_ip && request.*member == "twice";
    require(is_twice || bytes.find(request.*member) != std::string_view::npos,
            "a value is a part of what came");
    require((request.*member).find('\0') == std::string_view::npos, "no value holds NUL");
  }
  require(request.is_tls == other.is_tls, "pieces change nothing");
}

}  // namespace

void scgi(std::string_view input) {
  size_t piece_bytes = take_byte(input) + 1;
  ScgiReader whole;
  ScgiReader cut;
  ScgiReader::State state = feed(whole, input, std::max<size_t>(input.size(), 1));
  require(feed(cut, input, piece_bytes) == state, "pieces change nothing");
  if (state == ScgiReader::State::broken) {
    require(whole.fault()[0] != '\0', "a fault says what it is");
    require(whole.take("more") == ScgiReader::State::broken, "broken stays broken");
  }
  if (state != ScgiReader::State::whole) return;
  check_request(whole.request(), cut.request(), input);
  static const client::Gateway gateway{config::Settings()};
  relay::AnswerContext context = answer_context(whole.request(), gateway);
  require(context.trace_id.size() == 32, "every answer has a trace id");
  relay::StreamRequest wanted;
  std::optional<Error> refusal = refusal_of(
      [&] { wanted = relay::read_stream_request(whole.request(), formats::native_format()); });
  require(!refusal || (refusal->status() >= 400 && refusal->status() < 500),
          "a bad request is the client's");
  require(refusal || wanted.after >= 0, "a cursor is not negative");
}

}  // namespace hostler::fuzz
