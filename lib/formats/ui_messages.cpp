// See lib/formats/ui_messages.h.
#include "lib/formats/ui_messages.h"

#include <memory>

#include "lib/formats/ui_chunks.h"

namespace hostler::formats {
namespace {

class UiStream final : public Encoder {
 public:
  explicit UiStream(const RunFacts& run) : message_id_(run.run_id), run_(run) {}

  bool append(const events::EventView& event, std::string& out) override {
    UiChunks chunks(message_id_, UiChunks::Approvals::known_to_client, out);
    return run_.take(event, chunks);
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<UiStream>(*this); }

 private:
  std::string message_id_;
  UiRun run_;
};

class UiReplay final : public Encoder {
 public:
  explicit UiReplay(const RunFacts& run)
      : message_id_(run.run_id), stored_seq_(run.stored_seq), run_(run) {}

  bool append(const events::EventView& event, std::string& out) override {
    UiChunks chunks(message_id_, UiChunks::Approvals::to_be_told, out);
    if (event.seq > stored_seq_) return run_.take(event, chunks);
    // After the end of each stream more follows, except after the last one.
    bool ends = run_.take(event, parts_);
    if (event.seq < stored_seq_) return false;
    parts_.show(chunks, ends);
    parts_ = UiParts();
    return ends;
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<UiReplay>(*this); }

 private:
  std::string message_id_;
  int64_t stored_seq_;
  UiRun run_;
  UiParts parts_;
};

}  // namespace

EncoderState begin_ui_chat(const RunFacts& run) { return std::make_shared<const UiStream>(run); }

EncoderState begin_ui_chat_replay(const RunFacts& run) {
  return std::make_shared<const UiReplay>(run);
}

std::string ui_error_frames(const Error& error) {
  std::string out;
  UiChunks chunks("", UiChunks::Approvals::known_to_client, out);
  std::string message(error.detail.empty() ? error_row(error.code).title : error.detail);
  chunks.end({UiEnd::Kind::failed, "", std::move(message)});
  return out;
}

}  // namespace hostler::formats
