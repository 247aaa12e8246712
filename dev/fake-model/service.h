// Answers of the fake model by path: the two model wire forms, tool back ends, pages, the ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dev/fake-model/chat.h"
#include "dev/fake-model/http_server.h"
#include "dev/fake-model/ledger.h"
#include "dev/fake-model/planner.h"
#include "dev/fake-model/prompt_cache.h"
#include "dev/fake-model/wheel.h"
#include "lib/loop/loop.h"

namespace hostler::fake_model {

struct ServiceOptions {
  int64_t word_delay_ms = 20;
  int64_t tick_ms = 1;
  std::string required_key;  // empty: anybody may call
};

class Service {
 public:
  Service(loop::Loop& loop, ServiceOptions options);

  // For HttpServer. The hooks refer to this service, which outlives the server.
  ServerHooks hooks();

 private:
  std::unique_ptr<Work> answer(Exchange& exchange, const HttpRequest& request);
  std::unique_ptr<Work> answer_chat(Exchange& exchange, const HttpRequest& request,
                                    const WireForm& form);
  void answer_ledger(Exchange& exchange, const HttpRequest& request);

  ServiceOptions options_;
  Wheel wheel_;
  Ledger ledger_;
  Planner planner_;
  PromptCache cache_;
  std::unique_ptr<WireForm> openai_;
  std::unique_ptr<WireForm> anthropic_;
};

}  // namespace hostler::fake_model
