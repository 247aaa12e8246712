// Commands of the palette (Ctrl-K) and of the keyboard: commands of the frame, and those of the
// open screen.
import { useEffect } from './html.mjs';
import { store } from './store.mjs';

// [{id, label (function that gives the text), run(), keys ('g t': one after the other; '' for
// none)}]
export const commands = store([]);
export const palette_is_open = store(false);
export const keys_are_shown = store(false);

// Offers commands as long as the component is shown. `made` is compared by `changes`, as useEffect
// does.
export function useCommands(made, changes = []) {
  useEffect(() => {
    commands.set([...commands.get(), ...made]);
    return () => commands.set(commands.get().filter((command) => !made.includes(command)));
  }, changes);
}

const is_typing = (target) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
const sequence_ms = 1200;

// Ctrl-K or Cmd-K anywhere; single keys and sequences where nothing is typed and no dialog is open.
export function start_keyboard() {
  let typed = '';
  let forget = 0;
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      palette_is_open.set(!palette_is_open.get());
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (is_typing(event.target) || document.querySelector('dialog[open]')) return;
    if (event.key === '?') {
      keys_are_shown.set(true);
      return;
    }
    if (event.key.length !== 1 || event.key === ' ') return;
    clearTimeout(forget);
    forget = setTimeout(() => {
      typed = '';
    }, sequence_ms);
    typed = typed ? `${typed} ${event.key}` : event.key;
    const offered = commands.get().filter((command) => command.keys);
    if (!offered.some((command) => command.keys.startsWith(typed))) typed = event.key;
    const meant = offered.find((command) => command.keys === typed);
    if (!meant) return;
    event.preventDefault();
    typed = '';
    meant.run();
  });
}
