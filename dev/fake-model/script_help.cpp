// The little language as --help prints it. A test compares it with the table of commands.
#include "dev/fake-model/script.h"

namespace hostler::fake_model {

std::string_view script_help() {
  return R"(The little language
  Commands stand in brackets in the last user message; the text around them is ignored. Without
  any, the answer is a few friendly words. They are carried out in order. A tool call ends the
  model's turn: the script goes on when the tool's result has come back (the position is the number
  of assistant messages since the last user message, one that asks for a repair not counted). A
  command that is written wrongly is refused with 400; brackets whose first word is no command are
  ordinary text. When a turn says nothing by itself, the friendly words follow; when the script has
  ended, a few words about the tool results.

  Saying
    [say TEXT]             the text, word by word; \n is a new line, \] \[ \\ the character itself
    [answer TEXT]          the same, and the turn ends: the script goes on when the answer did not
                           fit the request's response format and is asked for once more
    [words N]              N words
    [stamps N]             N words, each the time at which it was written, in microseconds
    [think TEXT]           as say, but as reasoning
    [echo-history]         the request's model, tools and messages as JSON
    [half-pairs]           a character whose halves come in two deltas
    [long-line BYTES]      one delta of so many bytes
    [split-utf8]           characters of several bytes; from here on cut in two between writes
    [pause MS]             a pause; before anything is said, the head of the answer waits too
    [delay MS]             from here on so long after each word
  Calling tools (each ends the turn; settings for the turn come before)
    [tool NAME {JSON}]     one call, of whatever name; without JSON its arguments are {}
    [tools NAME {JSON} | NAME {JSON}]   several at once
    [ask QUESTION]         a call of ask_user with this message
    [bad-tool-json NAME]   a call (of web_search without NAME) whose arguments are not JSON
    [cut-tool HOW NAME {JSON} | …]   of the last call half of the arguments, without JSON nothing;
                           HOW: length, content_filter, done, bare (as [ends]), close
    [repeat N]             the turn of the tool call before is played N times in all
  Settings of a turn
    [usage in=N out=N cached=N written=N]   instead of the counted usage; in includes cached and
                           written. Counted is, from 1,024 tokens on, what is cached: in Anthropic's
                           form up to the marks of cache_control, in OpenAI's by itself
    [no-usage]             none is told
                           choice, groq, floats, each, late: usage within choices[0], in x_groq, as
                           floats, in each event, behind [DONE]
    [finish REASON]        stop, length, content_filter or tool_calls
    [reason WORD]          another word for it, whatever it says
    [ends done]            no finish reason, but the mark of the end; [ends bare]: neither
    [stream HABIT…]        how lines are written: crlf, cr, bom, comments, split (data over several
                           lines), no-space, empty-error (an error member that says nothing)
    [pieces HABIT]         how the calls of the turn are written in OpenAI's form: id (no index),
                           nameless, same-index, whole (all in one delta), mixed, object
                           (arguments), function_call
    [own FORM…]            the turn carries data of the provider's own, and is refused in later
                           requests where its message has calls and lacks it: reasoning_content,
                           reasoning, reasoning_details, extra_content (of the first call),
                           message_extra, thought (a part of content); in Anthropic's form thinking
                           and redacted_thinking
  Habits of a provider, for the whole script
    [refuses NAME…]        refuses by name: max_tokens, max_completion_tokens, stream_options,
                           json_schema, json_object, parallel_tool_calls, strict, temperature,
                           system (the role), reasoning_content, alternate (roles must), and of
                           schemas of tools: properties (none), items (none), anyof (at the top),
                           names (of properties)
    [context N SERVER]     over N tokens (four bytes each) it refuses in the words of openai, vllm,
                           llamacpp, anthropic, gemini, mistral, tgi, groq, ollama, bedrock,
                           openrouter, xai, fastapi
  Failures (times=N: only for the first N requests of this very conversation, then it goes on)
    [status CODE FORM retry_after=S times=N]   an error answer, 400 to 599; FORM of its body:
                           error-text, error-list, error-object, nested, array, detail,
                           detail-list, message, errors, text, html, empty
    [redirect URL]         307
    [cut times=N]          the connection is closed in the middle; [cut reset]: with a TCP reset
    [cut-json times=N]     the stream ends properly, but inside an event's JSON
    [error-in-stream FORM times=N]   an error inside the stream; FORM: event, line, bare, text,
                           message, detail, array, choice
    [no-choice times=N]    a stream with no choice in it
    [silence times=N]      nothing more, not even a head, until the client leaves
    [stall times=N]        some words, then silence
    [garbage times=N]      an event that is no JSON; [garbage html], [garbage http]: a page, no HTTP

Looking back
  GET /_requests           counts (count, finished, aborted_by_client, cut_by_server, open,
                           open_streams, open_most, counts by kind) and the last 100 requests
  DELETE /_requests        begins anew, also for times=N and what is cached
)";
}

}  // namespace hostler::fake_model
