// All that a handler may touch: the database as its caller, the settings in force, password work.
// One a worker, made by fcgi/worker.cpp. It begins every batch with who acts; no handler does.
#pragma once

#include <memory>
#include <string>

#include "fcgi/password_gate.h"
#include "fcgi/request.h"
#include "fcgi/route.h"
#include "lib/loop/db.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/settings.h"

namespace hostler {

class Services {
 public:
  Services(Loop& loop, DatabaseOptions options, std::shared_ptr<const Settings> settings);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  // One batch on the route's lane: who acts, then the statement. The first batch of a request
  // authenticates its caller (and fills request.caller), or throws the 401, 403 or 404 of it; later
  // ones act as that caller; those of open routes act as nobody.
  Task<Result> query(Request& request, const Statement& statement, Params params = {});
  // As query, for several statements; the results are theirs alone.
  Task<Results> batch(Request& request, Batch batch);
  // Several steps in one transaction, on the own lane whatever the route says. As the caller.
  Task<Transaction> transaction(Request& request);

  // Wakes the daemons after a write: a notification of its own on the quick lane, not waited for.
  // One that is lost is made good by their sweeps.
  void ring(const Statement& bell, Params params = {});

  // Authenticates and sends nothing else, except the route's guard when with_guard is set. For
  // dispatch: a denial comes before a fault of the input.
  Task<void> authenticate(Request& request, bool with_guard);
  // Tells the audit log of a refusal, some time after the answer.
  void audit_denied(const Request& request, const Error& denial);

  // The settings in force now. Ask anew after each co_await: an administrator may change them.
  const Settings& settings() const { return *settings_; }
  PasswordGate& passwords() { return passwords_; }
  Loop& loop() { return loop_; }
  Database& database() { return database_; }

 private:
  Task<Results> send(Request& request, Batch batch);
  Task<void> send_aside(Batch batch);

  Loop& loop_;
  Database database_;
  std::shared_ptr<const Settings> settings_;
  PasswordGate passwords_;
  TaskSet aside_;  // what no answer waits for
};

}  // namespace hostler
