// Deliveries of this daemon from the outbox. It is notified of new messages by NOTIFY, claims them
// with a lease, attempts them side by side, and writes the result of each. A poll every second
// finds messages that are due again, and those that nobody announced. A message is sent at least
// once, always under its own id.
#pragma once

#include <string>

#include "lib/config/live_settings.h"
#include "lib/config/secret_box.h"
#include "lib/http/client.h"
#include "lib/loop/task_set.h"
#include "lib/mail/mail_settings.h"
#include "lib/postgres/database.h"
#include "runner/delivery/delivery.h"

namespace hostler::runner {

struct OutboxServices {
  loop::Loop& loop;
  postgres::Database& db;
  http::HttpClient& http;
  const config::SecretBox& secrets;
  const config::LiveSettings& settings;
};

class Outbox {
 public:
  Outbox(OutboxServices services, std::string daemon_id);

  // The outbox's own coroutines; put each into the daemon's task set once.
  Task<void> mails_forever();
  Task<void> webhooks_forever();

  // Something may be due: from LISTEN; messages of webhooks also when a run ended here.
  void look();
  void look_for_webhooks();
  // Mail settings may have changed.
  void look_at_settings() { settings_known_ = false; }
  // Ends every attempt; what was claimed is released with the daemon's registration.
  void stop();
  // Behind stop(): until no claim is on its way.
  Task<void> claims_ended();

  int64_t delivered() const { return delivered_; }
  int64_t failed() const { return failed_; }
  int64_t under_way() const {
    return static_cast<int64_t>(codes_.size() + mails_.size() + webhooks_.size());
  }

 private:
  Task<void> wait_for(loop::Signal& notification, bool& again);
  Task<void> read_mail_settings();
  Task<postgres::BatchOutcome> claim(postgres::Batch batch);
  Task<void> claim_mails();
  Task<void> claim_webhooks();
  Task<void> deliver_mail(QueuedMail mail, mail::MailSettings settings);
  Task<void> deliver_webhook(QueuedWebhook message);
  Task<void> record_attempt(std::string id, int64_t epoch, Attempt attempt);

  OutboxServices services_;
  std::string daemon_id_;
  std::string claims_after_;  // the endpoint behind which the next claim of webhooks begins
  mail::MailSettings mail_settings_;
  bool settings_known_ = false;
  loop::Signal mails_notified_;
  loop::Signal webhooks_notified_;
  bool mails_again_ = true;
  bool webhooks_again_ = true;
  bool is_stopping_ = false;
  int claims_ = 0;  // on their way
  loop::Signal claim_ended_;
  int64_t delivered_ = 0;
  int64_t failed_ = 0;
  loop::TaskSet codes_;  // last: their coroutines use all of the above
  loop::TaskSet mails_;  // all others
  loop::TaskSet webhooks_;
};

}  // namespace hostler::runner
