// A whole answer that is given later: for slow tools and slow pages.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "dev/fake-model/http_server.h"
#include "dev/fake-model/wheel.h"

namespace hostler::fake_model {

class DelayedAnswer final : public Work, private Wheel::Entry {
 public:
  DelayedAnswer(Wheel& wheel, Exchange& exchange, AnswerHead head, std::string body,
                int64_t delay_ms)
      : exchange_(exchange), head_(std::move(head)), body_(std::move(body)) {
    wheel.schedule(*this, wheel.now_ms() + delay_ms);
  }

 private:
  void on_due() override { exchange_.answer(head_, body_); }

  Exchange& exchange_;
  AnswerHead head_;
  std::string body_;
};

// Now when the delay is 0.
inline std::unique_ptr<Work> answer_after(Wheel& wheel, Exchange& exchange, AnswerHead head,
                                          std::string body, int64_t delay_ms) {
  if (delay_ms > 0) {
    return std::make_unique<DelayedAnswer>(wheel, exchange, std::move(head), std::move(body),
                                           delay_ms);
  }
  exchange.answer(head, body);
  return nullptr;
}

}  // namespace hostler::fake_model
