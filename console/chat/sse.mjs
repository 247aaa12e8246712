// Server-Sent Events taken apart, as HTML's standard says ("9.2.6 Interpreting an event stream"):
// pieces of text in, fields out. Called by stream.mjs alone. It knows nothing of runs, and keeps no
// more than one unfinished event.

// A reader of one response. `on_event({ id, type, data })` for each event, `on_retry(ms)` for
// each `retry:` line of digits. `feed(text)` takes what came, cut anywhere; what the connection's
// end cuts off is dropped, as the standard wants it.
export function sse_reader({ on_event, on_retry }) {
  let pieces = []; // of the unfinished line: joined once, so that a long line costs no square
  let is_behind_cr = false;
  let is_first_line = true;
  let data = null;
  let type = '';
  let id = null;

  function take_field(name, value) {
    if (name === 'data') (data ??= []).push(value);
    else if (name === 'event') type = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^[0-9]{1,9}$/.test(value)) on_retry(Number(value));
  }

  function take_line(line) {
    if (line === '') {
      if (data !== null) on_event({ id, type: type || 'message', data: data.join('\n') });
      data = null;
      type = '';
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    if (colon < 0) return take_field(line, '');
    const from = line[colon + 1] === ' ' ? colon + 2 : colon + 1;
    take_field(line.slice(0, colon), line.slice(from));
  }

  function end_line() {
    let line = pieces.join('');
    pieces = [];
    if (is_first_line && line.startsWith('\ufeff')) line = line.slice(1);
    is_first_line = false;
    take_line(line);
  }

  const line_end = /\r\n|\r|\n/g;
  return {
    feed(text) {
      if (text === '') return;
      let from = is_behind_cr && text[0] === '\n' ? 1 : 0;
      is_behind_cr = false;
      line_end.lastIndex = from;
      for (let found = line_end.exec(text); found; found = line_end.exec(text)) {
        pieces.push(text.slice(from, found.index));
        from = line_end.lastIndex;
        end_line();
      }
      is_behind_cr = text.endsWith('\r');
      if (from < text.length) pieces.push(text.slice(from));
    },
  };
}
