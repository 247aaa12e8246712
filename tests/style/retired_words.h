// Words that this tree once had for things the field has words for. Names of C++ and SQL are held
// against them by tests/style/name_rules.h; nobody outside knew what they meant.
#pragma once

#include <array>
#include <string_view>

namespace hostler::style {

struct RetiredWord {
  std::string_view word;
  std::string_view instead;
};

// Retired as a part of any name.
constexpr std::array<RetiredWord, 31> retired_parts = {{
    {"aside", "background"},     {"beat", "heartbeat"},
    {"bell", "notification"},    {"bells", "notifications"},
    {"door", "listener"},        {"doors", "listeners"},
    {"doubles", "duplicates"},   {"flights", "in-flight batches"},
    {"follower", "subscriber"},  {"followers", "subscribers"},
    {"gate", "semaphore"},       {"hunger", "out of memory"},
    {"judge", "check"},          {"judged", "checked"},
    {"judgement", "check"},      {"judges", "checks"},
    {"patiently", "with retry"}, {"places", "endpoints, permits, indexes"},
    {"retold", "replay"},        {"rung", "notified"},
    {"seat", "worker slot"},     {"seats", "worker slots"},
    {"settle", "finish"},        {"spared", "except"},
    {"storm", "stress"},         {"stray", "orphan"},
    {"strays", "orphans"},       {"sweep", "poll"},
    {"sweeps", "polls"},         {"tellable", "redacted"},
    {"upkeep", "maintenance"},
}};

// Retired as a whole name.
constexpr std::array<RetiredWord, 61> retired_names = {{
    {"BareCaller", "RawClient"},
    {"EndWorld", "UserEndFixture"},
    {"EventFeed", "EventBus"},
    {"FaultyLine", "FaultyProxy"},
    {"MetricsSeat", "MetricsWriter"},
    {"OutboundDoor", "EgressProxy"},
    {"PasswordGate", "PasswordSemaphore"},
    {"PasswordPlaces", "PasswordPermits"},
    {"PlaceLookup", "GeoLookup"},
    {"RunWorld", "RunFixture"},
    {"RunsHeldUp", "RunsBlocked"},
    {"SecretPlace", "SecretIdentity"},
    {"ShownText", "StreamedText"},
    {"StreamStage", "StreamHarness"},
    {"SureCaller", "RetryingClient"},
    {"TcpPlace", "TcpEndpoint"},
    {"TenancyWorld", "TenancyFixture"},
    {"TestTalk", "TestConversation"},
    {"ToolBench", "ToolFixture"},
    {"WorkerPlace", "WorkerContext"},
    {"attempt_quick", "attempt_pipelined"},
    {"body_bytes_most", "body_bytes_limit"},
    {"bytes_most", "bytes_max"},
    {"code_held", "code_is_valid"},
    {"die_of_hunger", "exit_on_out_of_memory"},
    {"given_up", "abandoned"},
    {"guests_max", "over_limit_max"},
    {"has_unheard_hint", "has_pending_wake"},
    {"heard", "received"},
    {"held_up", "blocked"},
    {"hint_silent", "wake_idle"},
    {"is_told", "is_notified"},
    {"look_at_silent_runs", "poll_idle_runs"},
    {"need_of", "required_permission"},
    {"nginx_way", "nginx_proxy"},
    {"now_is", "new_state"},
    {"on_lost", "on_fenced, on_exit"},
    {"outbox_bell", "outbox_notify"},
    {"place_of_listener", "endpoint_of_listener"},
    {"platform_fold", "platform_roll_up"},
    {"query_then_ring", "query_then_notify"},
    {"read_patiently", "read_with_retry"},
    {"run_bell", "run_notify"},
    {"run_said", "run_story"},
    {"run_shown_text", "run_streamed_text"},
    {"run_unless_lost", "run_if_connected"},
    {"runs_lost", "runs_fenced"},
    {"said", "answer, output, text"},
    {"set_way", "set_proxy"},
    {"settled", "done"},
    {"stand_in", "fake_model"},
    {"start_said", "start_output"},
    {"subscription_upkeep", "subscription_maintenance"},
    {"take_flight", "take_in_flight"},
    {"tell_made", "report_change"},
    {"tell_step", "report_step"},
    {"tellable_path", "redacted_path"},
    {"told", "reported, notified, logged"},
    {"way_back", "revert_token"},
    {"worlds_", "fixtures_"},
    {"write_off", "record_attempt"},
}};

}  // namespace hostler::style
