// Events read from the table that the streams are read from; see ctl/run_tail.h.
#include "ctl/run_tail.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/error.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "queries/operator.h"
#include "queries/stream.h"

namespace hostler {
namespace {

constexpr int page_rows = 500;
constexpr int64_t page_bytes = int64_t{1} << 20;
// How long nothing is asked: short while something happens, longer while nothing does.
constexpr int pause_min_ms = 100;
constexpr int pause_max_ms = 1'000;

struct TailOptions {
  std::string run_id;
  int64_t after_seq = 0;
  bool no_follow = false;
};

// The same JSON, but for what a terminal may take for an order: U+0080 to U+009F, which a model or
// a page can write and JSON lets stand as they are.
std::string for_terminal(std::string_view json) {
  std::string shown;
  for (size_t at = 0; at < json.size(); ++at) {
    unsigned next = at + 1 < json.size() ? static_cast<unsigned char>(json[at + 1]) : 0;
    if (json[at] == '\xC2' && next >= 0x80 && next < 0xA0) {
      shown += fmt::format("\\u{:04x}", next);
      ++at;
    } else {
      shown += json[at];
    }
  }
  return shown;
}

// hostlerctl has no loop that this could keep from other work.
void pause_for(int milliseconds) { poll(nullptr, 0, milliseconds); }

class Tail {
 public:
  Tail(const CommandCall& call, const TailOptions& options)
      : call_(call), options_(options), seq_(options.after_seq) {}

  int follow() {
    if (std::optional<int> refused = connect()) return *refused;
    int pause_ms = pause_min_ms;
    while (true) {
      Round round = take_round();
      if (round == Round::over) return exit_ok;
      if (round == Round::disconnected) {
        if (std::optional<int> refused = reconnect()) return *refused;
        continue;
      }
      pause_ms = round == Round::some ? pause_min_ms : std::min(pause_ms * 2, pause_max_ms);
      if (round == Round::none) pause_for(pause_ms);
    }
  }

 private:
  enum class Round { some, none, over, disconnected };

  const std::string& url() const { return call_.settings().text("database.url"); }

  std::optional<int> connect() {
    owner_ = open_migrated(url(), "hostlerctl run tail");
    if (!owner_.session) return fail(owner_.status, owner_.refusal);
    return std::nullopt;
  }

  std::optional<int> reconnect() {
    print_err("hostlerctl: the connection to the database is lost; waiting for it");
    owner_.session.reset();
    while (postgres::why_no_connection(url())) pause_for(pause_max_ms);
    print_err("hostlerctl: connected again");
    return connect();
  }

  // The run is read before its events: what it says it had then is not missed.
  Round take_round() {
    postgres::DbSession& session = *owner_.session;
    std::optional<postgres::Result> run =
        session.run_if_connected(query::OperatorRun{.run_id = options_.run_id});
    if (!run) return Round::disconnected;
    if (run->empty()) throw Error(ErrorCode::runs_not_found);
    postgres::Row row = run->front();
    print_status(row);
    std::optional<postgres::Result> page = session.run_if_connected(page_after());
    if (!page) return Round::disconnected;
    for (int i = 0; i < page->size(); ++i) print_event((*page)[i]);
    std::fflush(stdout);
    if (!page->empty()) return Round::some;
    if (options_.no_follow) return Round::over;
    if (!row.boolean("is_ended")) return Round::none;
    print_end(row);
    return Round::over;
  }

  postgres::BoundStatement page_after() const {
    return query::EventPages{.run_ids = std::vector{options_.run_id},
                             .afters = std::vector{seq_},
                             .usage_wanted = std::vector{false},
                             .rows_max = page_rows,
                             .bytes_max = page_bytes};
  }

  // Prints facts that clients do not get on the error output, for people.
  void print_status(const postgres::Row& run) {
    std::string status(run.boolean("queued") ? "queued" : run.text("status"));
    if (call_.as_json || status == status_) return;
    if (status_.empty()) {
      print_err(fmt::format("run {} of organization {}, thread {}, {} on {}, trace {}",
                            run.text("id"), run.text("org_id"), run.text("thread_id"),
                            run.text("persona_id"), run.text("model"), run.text("trace_id")));
    }
    print_err("status: " + status);
    status_ = status;
  }

  void print_end(const postgres::Row& run) const {
    if (call_.as_json) return;
    std::string_view error = run.text("error_code");
    print_err(fmt::format(
        "{}, {}, {} + {} tokens, {}{}{}", count_text(run.integer("turns"), "turn"),
        count_text(run.integer("tool_calls"), "tool call"), run.integer("total_input_tokens"),
        run.integer("total_output_tokens"), count_text(run.integer("credits_used"), "credit"),
        error.empty() ? "" : "; ", error));
  }

  void print_event(const postgres::Row& event) {
    seq_ = event.integer("seq");
    std::string data = for_terminal(event.text("data"));
    if (!call_.as_json) {
      print_out(fmt::format("{}  {:>4}  {:<21} {}\n", event.text("created_at"), seq_,
                            event.text("type"), data));
      return;
    }
    JsonWriter json;
    json.begin_object().member("seq", seq_).member("type", event.text("type"));
    json.member_raw("data", data).member("created_at", event.text("created_at"));
    print_out(json.end_object().take() + "\n");
  }

  const CommandCall& call_;
  const TailOptions& options_;
  OwnerSession owner_;
  int64_t seq_;         // of the last event that was printed
  std::string status_;  // that was said last
};

int tail_run(const CommandCall& call, const TailOptions& options) {
  if (!is_uuid(options.run_id)) return fail(exit_usage, options.run_id + " is not an id of a run");
  return Tail(call, options).follow();
}

}  // namespace

void add_run_commands(CommandLine& line) {
  CommandWord topic = line.topic("run", "look at runs");
  auto options = std::make_shared<TailOptions>();
  CommandWord tail =
      line.command(topic, "tail", "print the events of a run as they happen, until its end",
                   [options](const CommandCall& call) { return tail_run(call, *options); });
  tail.add_option("RUN_ID", options->run_id, "as POST …/runs answered it").required();
  tail.add_option("--after-seq", options->after_seq, "only events after this one")
      .within(0, INT64_MAX);
  tail.add_flag("--no-follow", options->no_follow, "only stored events");
}

}  // namespace hostler
