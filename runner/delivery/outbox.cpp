// See runner/delivery/outbox.h.
#include "runner/delivery/outbox.h"

#include <algorithm>

#include "lib/log.h"
#include "lib/loop/wait.h"
#include "queries/outbox.h"

namespace hostler::runner {
namespace {

constexpr int64_t poll_ms = 1000;
constexpr int mails_max = 8;        // under way at once; the server is the operator's own
constexpr int kept_for_codes = 2;   // of these: others that hang do not delay a login code
constexpr int webhooks_max = 1000;  // one receiver that hangs has four of them, one tenant sixteen
constexpr int claim_max = 64;       // in one statement
constexpr int64_t endpoint_max = 4;
constexpr int64_t org_max = 16;
constexpr int64_t endpoints_max = 1000;  // that one claim looks at: some 25 ms
constexpr const char* no_endpoint = "00000000-0000-0000-0000-000000000000";
constexpr int64_t mail_lease_s = 90;   // an attempt ends within 60 s
constexpr int64_t lease_spare_s = 15;  // beyond an attempt's own limit
// An outcome that cannot be written is lost when its lease is over: the message is sent again.
constexpr int64_t write_retry_ms = 250;
constexpr int write_tries_max = 40;

void log_task_failure(const std::string& name, std::exception_ptr failure) {
  log_error("delivery_failed", {{"message_id", name}, {"cause", loop::cause_of(failure)}});
}

}  // namespace

Outbox::Outbox(OutboxServices services, std::string daemon_id)
    : services_(services),
      daemon_id_(std::move(daemon_id)),
      claims_after_(no_endpoint),
      codes_(services.loop, log_task_failure),
      mails_(services.loop, log_task_failure),
      webhooks_(services.loop, log_task_failure) {}

void Outbox::look() {
  mails_again_ = true;
  mails_notified_.notify();
  look_for_webhooks();
}

void Outbox::look_for_webhooks() {
  webhooks_again_ = true;
  webhooks_notified_.notify();
}

void Outbox::stop() {
  is_stopping_ = true;
  codes_.clear();
  mails_.clear();
  webhooks_.clear();
}

Task<void> Outbox::claims_ended() {
  while (claims_ > 0) co_await claim_ended_.wait();
}

Task<void> Outbox::wait_for(loop::Signal& notification, bool& again) {
  if (!again) co_await notification.wait_for(services_.loop, poll_ms);
  again = false;
}

Task<void> Outbox::mails_forever() {
  while (!is_stopping_) {
    co_await wait_for(mails_notified_, mails_again_);
    if (!settings_known_) co_await read_mail_settings();
    if (settings_known_ && mail_settings_.is_configured()) co_await claim_mails();
  }
}

Task<void> Outbox::webhooks_forever() {
  while (!is_stopping_) {
    co_await wait_for(webhooks_notified_, webhooks_again_);
    co_await claim_webhooks();
  }
}

// Known again only when they were read; until then mails wait.
Task<void> Outbox::read_mail_settings() {
  settings_known_ = true;  // a change while they are read makes it false again
  postgres::Batch batch;
  batch.add(query::EmailConfigLoad{});
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  if (outcome.error) {
    settings_known_ = false;
    co_return;
  }
  mail_settings_ =
      mail::mail_settings(*services_.settings.current(), outcome.results.at(0), services_.secrets);
}

Task<postgres::BatchOutcome> Outbox::claim(postgres::Batch batch) {
  ++claims_;
  postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
  --claims_;
  claim_ended_.notify();
  co_return outcome;
}

Task<void> Outbox::claim_mails() {
  int others = static_cast<int>(mails_.size());
  int free = mails_max - others - static_cast<int>(codes_.size());
  if (free <= 0 || is_stopping_) co_return;
  int free_for_others = std::max(0, mails_max - kept_for_codes - others);
  postgres::Batch batch;
  batch.add(query::OutboxClaimMails{.daemon_id = daemon_id_,
                                    .limit = free,
                                    .lease_seconds = mail_lease_s,
                                    .others_limit = free_for_others});
  postgres::BatchOutcome outcome = co_await claim(std::move(batch));
  if (outcome.error || is_stopping_) co_return;
  const postgres::Result& claimed = outcome.results.at(0);
  // New settings make what waits due, and their notification may come behind this claim: a try
  // with the old ones would cost the mail its pause once more.
  if (!claimed.empty()) co_await read_mail_settings();
  if (is_stopping_) co_return;
  for (int i = 0; i < claimed.size(); ++i) {
    QueuedMail mail = read_queued_mail(claimed[i], services_.secrets);
    std::string id = mail.id;
    loop::TaskSet& lane = mail.template_name == "login_code" ? codes_ : mails_;
    lane.erase(id);  // a lease that lapsed while we were still at it
    lane.add(id, deliver_mail(std::move(mail), mail_settings_));
  }
  if (claimed.size() == free) mails_again_ = true;
}

Task<void> Outbox::claim_webhooks() {
  int free = std::min(claim_max, webhooks_max - static_cast<int>(webhooks_.size()));
  if (free <= 0 || is_stopping_) co_return;
  int64_t timeout_ms = services_.settings.current()->integer("webhook.timeout_ms");
  int64_t lease_s = timeout_ms / 1000 + lease_spare_s;
  postgres::Batch batch;
  batch.add(query::OutboxClaimLock{});
  batch.add(query::OutboxWake{});
  batch.add(query::OutboxClaimWebhooks{.daemon_id = daemon_id_,
                                       .limit = free,
                                       .lease_seconds = lease_s,
                                       .endpoint_max = endpoint_max,
                                       .org_max = org_max,
                                       .after_endpoint_id = claims_after_,
                                       .endpoints_max = endpoints_max});
  postgres::BatchOutcome outcome = co_await claim(std::move(batch));
  if (outcome.error || is_stopping_) co_return;
  const postgres::Result& claimed = outcome.results.at(2);
  // If more messages wait than one claim takes, the next claim begins after them, so that each has
  // its turn.
  bool is_full = claimed.size() == free;
  if (is_full || claims_after_ != no_endpoint) webhooks_again_ = true;
  if (!is_full) claims_after_ = no_endpoint;
  for (int i = 0; i < claimed.size(); ++i) {
    if (is_full)
      claims_after_ = std::max(claims_after_, std::string(claimed[i].text("endpoint_id")));
    QueuedWebhook message = read_queued_webhook(claimed[i], services_.secrets);
    std::string id = message.id;
    webhooks_.erase(id);
    webhooks_.add(id, deliver_webhook(std::move(message)));
  }
}

Task<void> Outbox::deliver_mail(QueuedMail mail, mail::MailSettings settings) {
  std::string id = mail.id;
  int64_t epoch = mail.epoch;
  Attempt attempt =
      co_await attempt_mail(services_.loop, services_.http, std::move(settings), std::move(mail));
  co_await record_attempt(std::move(id), epoch, std::move(attempt));
  mails_again_ = true;
  mails_notified_.notify();
}

Task<void> Outbox::deliver_webhook(QueuedWebhook message) {
  std::string id = message.id;
  int64_t epoch = message.epoch;
  int64_t timeout_ms = services_.settings.current()->integer("webhook.timeout_ms");
  Attempt attempt = co_await attempt_webhook(services_.http, timeout_ms, std::move(message));
  co_await record_attempt(std::move(id), epoch, std::move(attempt));
  look_for_webhooks();
}

Task<void> Outbox::record_attempt(std::string id, int64_t epoch, Attempt attempt) {
  attempt.is_delivered ? ++delivered_ : ++failed_;
  if (!attempt.is_delivered) {
    log_info("delivery_attempt_failed", {{"message_id", id}, {"why", attempt.error}});
  }
  int64_t mail_retry_seconds = services_.settings.current()->integer("mail.retry_seconds");
  for (int tries = 0; tries < write_tries_max; ++tries) {
    postgres::Batch batch;
    if (attempt.is_delivered) {
      batch.add(query::OutboxDelivered{.daemon_id = daemon_id_,
                                       .message_id = id,
                                       .epoch = epoch,
                                       .status_code = attempt.status_code});
    } else {
      batch.add(query::OutboxFailed{.daemon_id = daemon_id_,
                                    .message_id = id,
                                    .epoch = epoch,
                                    .status_code = attempt.status_code,
                                    .error = attempt.error,
                                    .retry_after_ms = attempt.retry_after_ms,
                                    .is_final = attempt.is_final,
                                    .is_gone = attempt.is_gone,
                                    .fault = attempt.fault,
                                    .mail_retry_seconds = mail_retry_seconds});
    }
    postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
    if (!outcome.error) co_return;
    log_warning("delivery_not_written", {{"message_id", id}, {"cause", outcome.error->cause}});
    co_await loop::sleep_ms(services_.loop, write_retry_ms);
  }
}

}  // namespace hostler::runner
