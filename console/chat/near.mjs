// Parts of the console that only some texts need, loaded when such a text comes into sight. Used by
// code_view.mjs and math_view.mjs.
import { useEffect, useRef, useState } from '../html.mjs';

const waiting = new Map(); // element -> what is called when it comes into sight
const watcher = new IntersectionObserver(
  (seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      waiting.get(target)?.();
      waiting.delete(target);
    }
  },
  { rootMargin: '200px' },
);

// [ref of the element, what `load()` gives, or null until the element is in sight]. A part that
// cannot be loaded leaves the text as it is.
/** @param {() => Promise<any>} load @returns {[any, any]} */
export function useNear(load) {
  const box = useRef(null);
  const [part, set_part] = useState(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    let is_gone = false;
    waiting.set(element, () => {
      load().then(
        (found) => is_gone || set_part(found),
        () => {},
      );
    });
    watcher.observe(element);
    return () => {
      is_gone = true;
      watcher.unobserve(element);
      waiting.delete(element);
    };
  }, []);
  return [box, part];
}
