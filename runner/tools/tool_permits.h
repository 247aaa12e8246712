// How many tool calls are under way at once, in the daemon and of one organization: what waits goes
// on round-robin over organizations, of each in the order in which it came. The agent loop takes a
// permit before it calls a tool; nothing else is bounded by it.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"

namespace hostler::runner {

struct ToolShares {
  size_t calls_max = 512;     // answers are up to 5 MiB each, and are read on the thread pool
  size_t org_calls_max = 16;  // of all 21 organizations that one user may own, far from all
};

class ToolPermits {
 public:
  explicit ToolPermits(loop::Loop& loop, ToolShares shares = ToolShares());
  ToolPermits(const ToolPermits&) = delete;
  ToolPermits& operator=(const ToolPermits&) = delete;

  // Given back by its destructor, on the loop; one that lives on behind the permits is nobody's.
  class Permit {
   public:
    Permit(ToolPermits& permits, std::string org_id);
    Permit(Permit&& other) noexcept;
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    Permit& operator=(Permit&&) = delete;
    ~Permit();

   private:
    ToolPermits* permits_;
    std::string org_id_;
    std::weak_ptr<void> lives_;
  };

  // Waits until the daemon and the organization's share have room. Who cancels has none.
  Task<Permit> take(std::string org_id);

  size_t under_way() const { return under_way_; }
  size_t waiting() const { return waiting_; }

 private:
  class Waiter;
  struct Share {
    size_t under_way = 0;
    std::list<Waiter*> waiting;
  };
  bool has_room_now(const std::string& org_id) const;
  void serve();
  void give_back(const std::string& org_id);
  void forget_if_idle(const std::string& org_id);
  std::map<std::string, Share>::iterator next_in_turn();

  const ToolShares limits_;
  std::map<std::string, Share> shares_;  // of organizations with calls, or with waiting ones
  std::string last_served_;
  size_t under_way_ = 0;
  size_t waiting_ = 0;
  std::shared_ptr<void> lives_ = std::make_shared<char>();
  loop::Timer turn_;  // who gives back resumes nobody: that happens in a turn of the loop
};

}  // namespace hostler::runner
