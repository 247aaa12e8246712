// Building blocks of components: Preact with htm instead of JSX. Everything else of Preact that the
// console uses is passed on from here.
import { Fragment, h } from 'preact';
import htm from 'htm';

export const html = htm.bind(h);
export { Fragment, h };
export { createContext, render } from 'preact';
export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from 'preact/hooks';
