// The hashed timer wheel of wheel.h: an entry lies in the slot of its due time modulo 1024 ms, and
// is left there for as many rounds as it takes.
#include "dev/fake-model/wheel.h"

#include <algorithm>

namespace hostler::fake_model {

Wheel::Wheel(loop::Loop& loop, int64_t tick_ms)
    : loop_(loop),
      tick_ms_(tick_ms),
      timer_(loop, [this] { turn(); }),
      turned_ms_(loop.now_ms()),
      armed_for_ms_(-1) {
  for (Link& slot : slots_) slot.next = slot.previous = &slot;
}

void Wheel::append(Link& ring, Entry& entry) {
  entry.previous = ring.previous;
  entry.next = &ring;
  entry.previous->next = &entry;
  ring.previous = &entry;
}

void Wheel::schedule(Entry& entry, int64_t due_ms) {
  entry.unlink();
  if (armed_for_ms_ < 0) turned_ms_ = std::max(turned_ms_, loop_.now_ms() - 1);
  entry.due_ms_ = std::max(due_ms, turned_ms_ + 1);
  entry.due_ms_ += (tick_ms_ - entry.due_ms_ % tick_ms_) % tick_ms_;
  append(slot_of(entry.due_ms_), entry);
  if (armed_for_ms_ < 0 || entry.due_ms_ < armed_for_ms_) {
    armed_for_ms_ = entry.due_ms_;
    timer_.restart(armed_for_ms_ - loop_.now_ms());
  }
}

void Wheel::turn() {
  int64_t now = loop_.now_ms();
  int64_t first = std::max(turned_ms_ + 1, now - slot_count + 1);
  // Before the slots run: what they schedule from now on lies after this turn.
  turned_ms_ = now;
  armed_for_ms_ = now;
  for (int64_t time = first; time <= now; ++time) run_slot(slot_of(time), now);
  arm();
}

void Wheel::run_slot(Link& slot, int64_t now) {
  if (slot.next == &slot) return;
  // The entries move to a ring of this call: one that is destroyed meanwhile unlinks itself.
  Link due = slot;
  due.next->previous = due.previous->next = &due;
  slot.next = slot.previous = &slot;
  while (due.next != &due) {
    Entry& entry = static_cast<Entry&>(*due.next);
    entry.unlink();
    if (entry.due_ms_ > now) {
      append(slot, entry);
    } else {
      entry.on_due();
    }
  }
}

void Wheel::arm() {
  armed_for_ms_ = -1;
  for (int64_t ahead = 1; ahead <= slot_count; ++ahead) {
    Link& slot = slot_of(turned_ms_ + ahead);
    if (slot.next == &slot) continue;
    armed_for_ms_ = turned_ms_ + ahead;
    timer_.restart(ahead);
    return;
  }
}

}  // namespace hostler::fake_model
