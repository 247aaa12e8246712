// Keeps the end of a pane in view while it grows, until the reader scrolls away from it.
import { useEffect, useLayoutEffect, useRef, useState } from '../html.mjs';

const near_px = 48;

// `drawn`: what the pane shows; after each change the pane goes to its end, if it was there.
export function useStickyScroll(drawn) {
  const pane = useRef(null);
  const is_stuck = useRef(true);
  const [is_away, set_away] = useState(false);
  const to_end = () => {
    is_stuck.current = true;
    set_away(false);
    if (pane.current) pane.current.scrollTop = pane.current.scrollHeight;
  };
  useLayoutEffect(() => {
    if (is_stuck.current && pane.current) pane.current.scrollTop = pane.current.scrollHeight;
  }, drawn);
  const node = pane.current;
  useEffect(() => {
    const box = pane.current;
    if (!box) return undefined;
    let last_top = box.scrollTop;
    const look = () => {
      const distance = box.scrollHeight - box.scrollTop - box.clientHeight;
      // Only a reader scrolls up; text that grows leaves the place as it is.
      if (box.scrollTop < last_top && distance > near_px) is_stuck.current = false;
      if (distance <= near_px) is_stuck.current = true;
      last_top = box.scrollTop;
      set_away(!is_stuck.current);
    };
    // Text that is drawn in later frames.
    const grown = new MutationObserver(() => {
      if (is_stuck.current) box.scrollTop = box.scrollHeight;
    });
    box.addEventListener('scroll', look, { passive: true });
    grown.observe(box, { childList: true, subtree: true });
    return () => {
      box.removeEventListener('scroll', look);
      grown.disconnect();
    };
  }, [node]);
  return { pane, is_away, to_end };
}
