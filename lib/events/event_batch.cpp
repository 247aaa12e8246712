// See lib/events/event_batch.h.
#include "lib/events/event_batch.h"

#include <cassert>

namespace hostler::events {

void EventBatch::append(int64_t seq, std::string_view type, std::string_view data_json,
                        std::string_view created_at, std::string_view usage_json) {
  assert(seq > last_seq());
  events_.push_back({seq, texts_.size(), data_json.size(), static_cast<uint32_t>(type.size()),
                     static_cast<uint32_t>(created_at.size()),
                     static_cast<uint32_t>(usage_json.size())});
  texts_.reserve(texts_.size() + type.size() + data_json.size() + created_at.size() +
                 usage_json.size());
  texts_.append(type).append(data_json).append(created_at).append(usage_json);
  if (type == "run.resumed") resumed_seq_ = seq;
}

void EventBatch::append(const EventBatch& next) {
  assert(next.first_seq() > last_seq());
  size_t offset = texts_.size();
  texts_ += next.texts_;
  for (Place place : next.events_) {
    place.begin += offset;
    events_.push_back(place);
  }
  if (next.resumed_seq_ != 0) resumed_seq_ = next.resumed_seq_;
}

EventView EventBatch::operator[](size_t index) const {
  const Place& place = events_[index];
  std::string_view texts = std::string_view(texts_).substr(place.begin);
  EventView event;
  event.seq = place.seq;
  event.type = texts.substr(0, place.type_bytes);
  texts.remove_prefix(place.type_bytes);
  event.data_json = texts.substr(0, place.data_bytes);
  texts.remove_prefix(place.data_bytes);
  event.created_at = texts.substr(0, place.created_bytes);
  event.usage_json = texts.substr(place.created_bytes, place.usage_bytes);
  return event;
}

}  // namespace hostler::events
