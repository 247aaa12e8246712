// The doctor's findings about names and addresses, whose keys come from libraries that change with
// Unicode, and the command that computes skeletons again. See ctl/names.h.
#include "ctl/names.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ctl/doctor_report.h"
#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/account/account_rules.h"
#include "lib/json.h"
#include "lib/mail_address.h"
#include "lib/unicode.h"
#include "queries/names.h"

namespace hostler {
namespace {

constexpr int64_t addresses_max = 100'000;
constexpr int64_t names_max = 1000;
constexpr size_t listed_max = 20;

void list(std::string& words, size_t count, std::string_view name) {
  if (count < listed_max) words += fmt::format("{}{}", count == 0 ? "" : ", ", name);
  if (count == listed_max) words += ", …";
}

// Lists addresses whose stored key is outdated, and addresses of several accounts with one key.
void look_at_addresses(postgres::DbSession& session, DoctorReport& report) {
  postgres::Result rows = session.run(query::DoctorAddresses{.limit = addresses_max});
  std::map<std::string, std::vector<std::string>> by_key;
  std::string changed;
  size_t changed_count = 0;
  for (int i = 0; i < rows.size(); ++i) {
    std::string email(rows[i].text("email"));
    std::string key = mail_address_key(email);
    if (key != rows[i].text("email_key")) list(changed, changed_count++, email);
    by_key[key].push_back(std::move(email));
  }
  std::string met;
  size_t met_count = 0;
  for (const auto& [key, emails] : by_key) {
    if (emails.size() > 1) list(met, met_count++, fmt::format("{}", fmt::join(emails, " and ")));
  }
  if (met_count > 0) {
    report.warn("addresses", fmt::format("these are one mailbox each, and accounts of several: {}: "
                                         "PATCH /v1/admin/users/{{user_id}} gives one another",
                                         met));
  } else if (changed_count > 0) {
    report.warn("addresses",
                fmt::format("of {} the key is another one than is stored: PATCH "
                            "/v1/admin/users/{{user_id}} with its address stores it: {}",
                            count_text(static_cast<int64_t>(changed_count), "address"), changed));
  } else {
    report.well("addresses", "no two are one mailbox");
  }
}

}  // namespace

void look_at_names(postgres::DbSession& session, DoctorReport& report) {
  look_at_addresses(session, report);
  postgres::Result stale = session.run(query::NamesStaleCount{.icu = unicode::version()});
  if (stale.text() == "0") {
    report.well("names", "what they look like is of ICU " + unicode::version());
    return;
  }
  report.warn("names",
              fmt::format("what {} look like is not of ICU {}, which this host has: "
                          "hostlerctl user looks computes it again",
                          count_text(stale.front().integer("count"), "name"), unicode::version()));
}

int refresh_looks(const CommandCall& call) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl user");
  if (!owner.session) return fail(owner.status, owner.refusal);
  int64_t made = 0;
  for (;;) {
    postgres::Result page =
        owner.session->run(query::NamesStale{.icu = unicode::version(), .limit = names_max});
    if (page.empty()) break;
    std::vector<std::string> names;
    std::vector<std::string> skeletons;
    for (int i = 0; i < page.size(); ++i) {
      names.emplace_back(page[i].text("name_key"));
      skeletons.push_back(unicode::skeleton(names.back()));
    }
    made += page.size();
    owner.session->run(
        query::NamesLookSet{.names = names, .skeletons = skeletons, .icu = unicode::version()});
  }
  postgres::Result alike = owner.session->run(query::NamesAlike{});
  JsonWriter json;
  json.begin_object().member("made_anew", made).key("alike").begin_array();
  std::string lines = count_text(made, "name") + " computed again\n";
  for (int i = 0; i < alike.size(); ++i) {
    json.text(alike[i].text("names"));
    lines += fmt::format("look alike: {}\n", alike[i].text("names"));
  }
  return answer(call.as_json, json.end_array().end_object().take(), lines);
}

}  // namespace hostler
