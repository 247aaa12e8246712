// A value that components watch.
import { useEffect, useReducer } from './html.mjs';

// `get()`, `set(value)` and `watch(callback)`, which gives the function that ends it.
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

// The value of a store; the component is drawn anew whenever it changes.
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
