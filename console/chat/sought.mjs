// A thread that the address opens at one of its messages (`?message=ID`), as the search does.
import { useEffect, useRef } from '../html.mjs';

const pages_max = 20;
const shown_ms = 2500;
const has = (item, id) =>
  item.kind === 'message' ? item.message.id === id : item.answers.some((one) => one.id === id);

// `content`: a ref of the element whose last children are `items`, each one of them, after the
// button for older ones.
export function useSought(id, { conversation, items, pane, content }) {
  const { older, is_loaded } = conversation.state;
  const shown = useRef('');
  const pages = useRef(0);
  const at = id ? items.findIndex((item) => has(item, id)) : -1;
  useEffect(() => {
    if (!id || !is_loaded || shown.current === id) return;
    if (at < 0) {
      // Older messages are read until it is there.
      if (older && ++pages.current <= pages_max) conversation.load_older().catch(() => {});
      return;
    }
    shown.current = id;
    const element = content.current?.children[at + (older ? 1 : 0)];
    if (!element) return;
    element.scrollIntoView({ block: 'start' });
    // The pane is away from its end before anything in it grows.
    pane.current?.dispatchEvent(new Event('scroll'));
    element.classList.add('sought');
    setTimeout(() => element.classList.remove('sought'), shown_ms);
  }, [id, at, older, is_loaded]);
}
