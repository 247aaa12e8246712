// A run once more as it was seen: its events in their own time, or quicker, or moved by hand.
import { html, useEffect, useMemo, useRef, useState } from '../html.mjs';
import { duration, useWords } from '../i18n.mjs';
import { story_of } from '../chat/story.mjs';
import { StoryView } from '../chat/story_view.mjs';
import '../words/run_screens.mjs';

const speeds = [1, 4, 16, 64];
const pause_ms_max = 2000; // a wait of hours is shown as this long

export function Replay({ story }) {
  const t = useWords();
  const { log } = story;
  const [count, set_count] = useState(0);
  const [speed, set_speed] = useState(4);
  const [is_playing, set_playing] = useState(false);
  const latest = useRef(null);
  latest.current = { log, count, speed };
  useEffect(() => {
    if (!is_playing) return undefined;
    let due = performance.now();
    let frame = 0;
    const step = (now) => {
      const { log: events, count: from, speed: rate } = latest.current;
      let next = from;
      while (next < events.length && due <= now) {
        next += 1;
        if (next === events.length) break;
        const gap = Date.parse(events[next].created_at) - Date.parse(events[next - 1].created_at);
        due += Math.min(pause_ms_max, Math.max(0, gap) / rate);
      }
      if (next !== from) set_count(next);
      if (next >= events.length) set_playing(false);
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [is_playing]);
  const shown = useMemo(() => story_of(log.slice(0, count)), [log, count]);
  if (log.length === 0) return html`<p class="empty">${t('runs.no_events')}</p>`;
  const play = () => {
    if (count >= log.length) set_count(0);
    set_playing(!is_playing);
  };
  const passed =
    count === 0 ? 0 : Date.parse(log[count - 1].created_at) - Date.parse(log[0].created_at);
  return html`<div class="replay">
    <div class="row" role="group" aria-label=${t('runs.replay')}>
      <button type="button" class="main"
        onClick=${play}>${t(is_playing ? 'runs.pause' : 'runs.play')}</button>
      <select aria-label=${t('runs.speed')} value=${speed}
        onChange=${(event) => set_speed(Number(event.currentTarget.value))}>
        ${speeds.map((rate) => html`<option value=${rate}>${rate}×</option>`)}</select>
      <input type="range" class="space" min="0" max=${log.length} value=${count}
        aria-label=${t('runs.position')}
        onInput=${(event) => (set_playing(false), set_count(Number(event.currentTarget.value)))} />
      <span class="number">${count} / ${log.length} · ${duration(passed)}</span>
    </div>
    <article class="run"><${StoryView} story=${shown} is_live=${is_playing} /></article>
  </div>`;
}
