// Shared parts of attempts of the outbox: the recipient, the services they use, the result. An
// attempt never writes to the database. The outbox does, once, when it has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/secret_box.h"
#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/mail/mail_settings.h"

namespace hostler::runner {

struct Attempt {
  bool is_delivered = false;
  bool is_final = false;  // no other try would end better
  bool is_gone = false;   // the receiver said 410
  std::optional<int64_t> status_code;
  std::optional<int64_t> retry_after_ms;
  std::string fault;  // of a mail: mail_fault_name()
  std::string error;  // for whoever owns the endpoint, or the operator: no secrets, no addresses
};

// A mail that was claimed: a row of query::outbox_claim_mails.
struct QueuedMail {
  std::string id;
  int64_t epoch = 0;
  std::string template_name;
  bool is_over = false;  // what it says does not hold any more
  std::string recipient;
  std::string locale;
  std::string fields;                 // a JSON object
  std::optional<std::string> secret;  // another one; nothing when it could not be opened
  bool has_secret = false;
  bool needs_secret = false;  // it was queued with one
};
QueuedMail read_queued_mail(const postgres::Row& row, const config::SecretBox& secrets);
Task<Attempt> attempt_mail(loop::Loop& loop, http::HttpClient& http, mail::MailSettings settings,
                           QueuedMail mail);

// A webhook message that was claimed: a row of query::outbox_claim_webhooks.
struct QueuedWebhook {
  std::string id;
  std::string org_id;
  std::string endpoint_id;
  int64_t epoch = 0;
  std::string url;
  std::string body;
  std::string trace_id;
  int64_t timestamp_s = 0;  // of this attempt, by the database's clock
  std::vector<std::string> signing_secrets;
};
QueuedWebhook read_queued_webhook(const postgres::Row& row, const config::SecretBox& secrets);
Task<Attempt> attempt_webhook(http::HttpClient& http, int64_t timeout_ms, QueuedWebhook message);

}  // namespace hostler::runner
