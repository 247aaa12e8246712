// Keeps the end of a pane in view while its content grows, until the reader scrolls away from it. A
// pane opens at its end.
import { useEffect, useLayoutEffect, useRef, useState } from '../html.mjs';

const near_px = 48;

// {pane, content, is_away, to_end()}: refs of the element that scrolls and of the one in it.
export function useStickyScroll() {
  const pane = useRef(null);
  const content = useRef(null);
  const watched = useRef({ box: null, end: () => {} });
  const is_stuck = useRef(true);
  const last_top = useRef(0);
  const [is_away, set_away] = useState(false);

  const stick = () => {
    const box = pane.current;
    if (!box || !is_stuck.current) return;
    box.scrollTop = box.scrollHeight;
    last_top.current = box.scrollTop;
  };
  const to_end = () => {
    is_stuck.current = true;
    set_away(false);
    stick();
  };
  const look = () => {
    const box = pane.current;
    if (!box) return;
    const distance = box.scrollHeight - box.scrollTop - box.clientHeight;
    // Only a reader scrolls up; text that grows leaves the place as it is.
    if (box.scrollTop < last_top.current && distance > near_px) is_stuck.current = false;
    if (distance <= near_px) is_stuck.current = true;
    last_top.current = box.scrollTop;
    set_away(!is_stuck.current);
  };

  useLayoutEffect(() => {
    stick();
    const box = pane.current;
    if (box === watched.current.box) return;
    watched.current.end();
    if (!box) return;
    // Also sizes that nobody draws: text of later frames, formulas, a composer that grows.
    const sizes = new ResizeObserver(stick);
    sizes.observe(content.current);
    sizes.observe(box);
    box.addEventListener('scroll', look, { passive: true });
    const end = () => {
      sizes.disconnect();
      box.removeEventListener('scroll', look);
    };
    watched.current = { box, end };
  });
  useEffect(() => () => watched.current.end(), []);
  return { pane, content, is_away, to_end };
}
