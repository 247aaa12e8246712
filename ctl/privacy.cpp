// The journal of deletions; see ctl/privacy.h.
#include "ctl/privacy.h"

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "queries/operator.h"
#include "queries/privacy.h"

namespace hostler {
namespace {

constexpr const char* first_id = "00000000-0000-0000-0000-000000000000";
constexpr int64_t page_rows = 1'000;

int print_journal(const CommandCall& call, std::string after) {
  if (!is_uuid(after)) return fail(exit_usage, "--after must be the id of a line of the journal");
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl privacy");
  if (!owner.session) return fail(owner.status, owner.refusal);
  for (bool is_more = true; is_more;) {
    postgres::Result page =
        owner.session->run(query::PrivacyJournalPage{.after = after, .limit = page_rows});
    for (int i = 0; i < page.size(); ++i) print_out(std::string(page[i].text("item")) + "\n");
    is_more = page.size() == page_rows;
    if (is_more) after = page[page.size() - 1].text("id");
  }
  return 0;
}

struct Replayed {
  int64_t applied = 0;
  int64_t known = 0;
  int64_t failed = 0;
};

// A transaction of its own: what is done stays done, and may be done again.
void replay_line(postgres::DbSession& session, const std::string& line, int64_t nth,
                 Replayed& replayed) {
  session.begin();
  session.run(query::OperatorSetContext{});
  postgres::Result result = session.run(query::PrivacyReplay{.entry = line});
  session.commit();
  postgres::Row answer = result.front();
  if (!answer.is_null("fault")) {
    ++replayed.failed;
    fail(exit_bad_input, fmt::format("line {}: {}", nth, answer.text("fault")));
  } else if (answer.boolean("applied")) {
    ++replayed.applied;
  } else {
    ++replayed.known;
  }
}

int replay_journal(const CommandCall& call) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl privacy");
  if (!owner.session) return fail(owner.status, owner.refusal);
  Replayed replayed;
  int64_t nth = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++nth;
    std::optional<Json> entry = parse_json_or_nothing(line);
    if (!entry || !entry->is_object() || entry->text_or("kind").empty()) {
      return fail(exit_bad_input, fmt::format("line {} is not a line of the journal", nth));
    }
    replay_line(*owner.session, line, nth, replayed);
  }
  JsonWriter json;
  json.begin_object().member("applied", replayed.applied).member("known", replayed.known);
  json.member("failed", replayed.failed).end_object();
  int printed = answer(call.as_json, json.take(),
                       fmt::format("{} applied, {} already present, {} failed\n", replayed.applied,
                                   replayed.known, replayed.failed));
  return replayed.failed > 0 ? exit_bad_input : printed;
}

}  // namespace

void add_privacy_commands(CommandLine& line) {
  CommandWord privacy = line.topic("privacy", "repeat deletions after a backup is restored");
  auto after = std::make_shared<std::string>(first_id);
  CommandWord journal =
      line.command(privacy, "journal", "print the deletions, one JSON object per line",
                   [after](const CommandCall& call) { return print_journal(call, *after); });
  journal.add_option("--after", *after, "the id of the last line that you already have");
  line.command(privacy, "replay", "repeat the deletions of the lines of standard input",
               replay_journal);
}

}  // namespace hostler
