// A value that components watch.
import { useEffect, useReducer } from './html.mjs';

// `get()`, `set(value)` and `watch(callback)`, which gives the function that ends it.
/**
 * @template T
 * @typedef {{get: () => T, set: (next: T) => void,
 *   watch: (watcher: (value?: T) => void) => () => void}} Store
 */
/**
 * @template T
 * @param {T} value
 * @returns {Store<T>}
 */
export function store(value) {
  const watchers = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const watcher of [...watchers]) watcher(value);
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

// The value of a store; the component is drawn again whenever it changes.
/**
 * @template T
 * @param {Store<T>} watched
 * @returns {T}
 */
export function useStore(watched) {
  const [, draw] = useReducer((count) => count + 1, 0);
  const seen = watched.get();
  useEffect(() => {
    // It may have changed between drawing and watching.
    if (!Object.is(watched.get(), seen)) draw();
    return watched.watch(draw);
  }, [watched]);
  return seen;
}
