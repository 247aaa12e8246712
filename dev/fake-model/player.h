// Plays one turn of a script as one answer: word by word on the shared clock, waiting for a slow
// client, in whichever wire form the request came.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dev/fake-model/chat.h"
#include "dev/fake-model/http_server.h"
#include "dev/fake-model/odd_stream.h"
#include "dev/fake-model/script.h"
#include "dev/fake-model/wheel.h"

namespace hostler::fake_model {

class Player final : public Work, private Wheel::Entry {
 public:
  // The turn must not begin with a status or a failure that is used up: the service settles those.
  Player(Wheel& wheel, Exchange& exchange, ChatRequest request, std::unique_ptr<AnswerForm> form,
         Turn turn, int64_t word_delay_ms);

  void start() { play(); }
  void on_room() override;

 private:
  enum class State { playing, silent, ended };

  void on_due() override { play(); }
  void play();
  // Each answers how many milliseconds to wait before the next.
  int64_t play_step();
  int64_t play_text(const Step& step);
  int64_t play_tools(const Step& step);
  int64_t play_odd_calls(const Step& step);
  int64_t play_own_members(const Step& step);
  void take_settings();
  void end_tools(const Step& step);
  void play_setting(const Step& step);
  void play_failure(const Step& step);
  void play_garbage(const Step& step);
  void next_step();
  std::string text_of(const Step& step) const;
  bool may_write_more();
  std::optional<Usage> usage() const;

  void open();
  void close();
  void send();
  std::string half_document();

  Wheel& wheel_;
  Exchange& exchange_;
  ChatRequest request_;
  std::unique_ptr<AnswerForm> form_;
  Turn turn_;
  int64_t delay_ms_;

  State state_ = State::playing;
  bool is_open_ = false;
  size_t step_ = 0;
  size_t offset_ = 0;  // into the text of this step, or the arguments of this call
  size_t call_ = 0;    // of this step's calls
  std::string text_;   // of this step, where it is made here
  bool has_text_ = false;
  FinishReason reason_ = FinishReason::stop;
  bool has_wished_reason_ = false;
  bool has_usage_ = true;
  UsageWish usage_;
  int64_t output_tokens_ = 0;
  bool splits_utf8_ = false;
  std::optional<OddLines> odd_lines_;
  std::string pieces_;  // how calls are written; empty: as the form has it
  std::string tail_;    // what is left of a piece that was split inside a character
  std::string scratch_;
  int64_t due_ms_ = 0;
};

}  // namespace hostler::fake_model
