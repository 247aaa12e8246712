// Calls of servers before revision 2026-07-28. Such a server asks a person on the stream of the
// call itself: the stream is held here while the run waits without a daemon, for ten minutes at
// most. What comes on it meanwhile is stored like the result of a task (sql/schema/mcp_tasks.sql);
// when this daemon dies, nobody knows what became of the call. A call that nobody waits for any
// more, or that may not be gone on with (mcp_task_refusal() in SQL), is cancelled at its server.
// Built by the daemon, used by mcp_call.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/mcp/remote_call.h"
#include "runner/tools/mcp_state.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

// Whose call it is.
struct HeldKey {
  std::string run_id;
  std::string tool_call_id;
  bool is_idempotent = false;
};

class HeldCalls {
  struct Entry;
  struct SessionEnd;

 public:
  explicit HeldCalls(OAuthServices services);
  ~HeldCalls();
  HeldCalls(const HeldCalls&) = delete;
  HeldCalls& operator=(const HeldCalls&) = delete;

  // A call while its run waits for it. Destroying it cancels the call, unless it was let go.
  class Call {
   public:
    Call(HeldCalls& calls, std::shared_ptr<Entry> entry);
    Call(Call&& other) noexcept;
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call& operator=(Call&&) = delete;
    ~Call();

    // Until its outcome is there, or its server asks: then nothing, and state() has the question.
    Task<std::optional<RemoteOutcome>> next();
    const McpState& state() const;
    // Which connection of OAuth its server was shown; empty: none.
    std::string connection_id() const;
    // The run waits for a person, as Postgres knows under claim_id(): the call goes on alone, with
    // this permit in place of its first.
    void let_go(ToolPermits::Permit permit);

   private:
    HeldCalls* calls_;
    std::shared_ptr<Entry> entry_;
  };

  // Sends it. asks_nobody: the server gets a note that nobody answers. permit: kept until its end,
  // or until it is released.
  Call begin(HeldKey key, RemoteCall call, bool asks_nobody, ToolPermits::Permit permit);

  // Put it into the daemon's task set once.
  Task<void> watch_forever();
  // A person may have answered, or a run may have ended.
  void look();
  // Number of streams that this daemon holds.
  const std::string& claim_id() const { return claim_id_; }
  size_t held() const { return held_.size(); }

 private:
  Task<void> carry_out(std::shared_ptr<Entry> entry, RemoteCall call);
  Task<std::string> ask(std::shared_ptr<Entry> entry, std::string params);
  Task<void> show_question(std::shared_ptr<Entry> entry);
  Task<void> store_outcome(std::shared_ptr<Entry> entry);
  Task<bool> end_in_postgres(std::shared_ptr<Entry> entry, std::string verdict,
                             std::optional<std::string> kept, std::optional<std::string> own);
  void cancel(const std::shared_ptr<Entry>& entry);
  Task<void> refuse(std::shared_ptr<Entry> entry, std::string refusal);
  Task<void> check();

  OAuthServices services_;
  std::string claim_id_;
  loop::Signal notified_;
  bool again_ = false;
  std::unordered_map<std::string, std::shared_ptr<Entry>> held_;  // let go; by their tasks' names
  std::shared_ptr<HeldCalls*> self_;
  loop::TaskSet tasks_;  // last: its coroutines use all of the above
};

}  // namespace hostler::runner
