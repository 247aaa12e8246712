// Lines read; see runner/access_log/log_line.h.
#include "runner/access_log/log_line.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "lib/client/access_note.h"
#include "lib/client/user_agent.h"
#include "lib/http/logged_path.h"
#include "lib/utf8.h"

namespace hostler::runner {
namespace {

constexpr size_t method_bytes_max = 32;
constexpr size_t path_bytes_max = 2048;
constexpr size_t user_agent_bytes_max = 1024;
constexpr double status_max = 999;

// More than any second since 1970 that nginx will write, and exact as a double.
constexpr double number_max = 1e11;

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  bool is_within = value >= 0 && value <= number_max;  // false for what is no number
  return is_within ? std::optional(value) : std::nullopt;
}

client::AccessNote note_of(const Json& line, const client::Gateway& gateway) {
  std::optional<client::AccessNote> access_note = client::read_access_note(line.text_or("note"));
  if (access_note) return *access_note;
  client::RequestOrigin origin;
  origin.address = {line.text_or("peer"), line.text_or("forwarded_for"),
                    line.text_or("connecting_ip")};
  origin.user_agent = line.text_or("user_agent");
  origin.authorization = line.text_or("authorization");
  client::ClientFacts facts = gateway.facts_of(origin);
  return {std::move(facts.client_ip), facts.risk_score, {}};
}

}  // namespace

bool write_log_entry(std::string_view line, const client::Gateway& gateway, const GeoLookup& geo,
                     JsonWriter& entries) {
  // nginx writes the bytes of a client as they came.
  std::optional<Json> read = parse_json_or_nothing(utf8_lossy(line));
  if (!read || !read->is_object()) return false;
  std::optional<double> end_s = number_of(read->text_or("end"));
  std::optional<double> took_s = number_of(read->text_or("took"));
  std::optional<double> status = number_of(read->text_or("status"));
  if (!end_s || !took_s || !status || *status > status_max) return false;
  std::string_view trace_id = read->text_or("trace_id");
  std::string path = http::logged_path(read->text_or("uri"));
  std::string_view user_agent = read->text_or("user_agent");
  client::AccessNote note = note_of(*read, gateway);
  GeoLocation location = geo.of(note.client_ip);

  entries.begin_object();
  entries.member("at", *end_s - *took_s);
  entries.member("trace_id", trace_id.empty() ? read->text_or("request_id") : trace_id);
  entries.member("method", utf8_prefix(read->text_or("method"), method_bytes_max));
  entries.member("path", utf8_prefix(path, path_bytes_max));
  entries.member("status_code", static_cast<int64_t>(*status));
  entries.member("duration_ms", static_cast<int64_t>(std::llround(*took_s * 1000)));
  entries.member("client_ip", note.client_ip);
  entries.member("country", location.country);
  entries.member("city", location.city);
  entries.member("user_agent", utf8_prefix(user_agent, user_agent_bytes_max));
  entries.member("ua_type", client::user_agent_class_name(client::user_agent_class(user_agent)));
  entries.member("risk_score", note.risk_score);
  entries.member("identity_type", note.identity.type);
  entries.member_or_null("org_id", note.identity.org_id);
  entries.member_or_null("user_id", note.identity.user_id);
  entries.end_object();
  return true;
}

}  // namespace hostler::runner
