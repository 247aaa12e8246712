// Actions that need a fresh login: asks for the password, an emailed code or the second factor,
// then repeats the action.
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { lazy } from '../lazy.mjs';
import { watch_screens } from '../router.mjs';
import { store, useStore } from '../store.mjs';
import { watch_session } from '../token.mjs';
import { Dialog } from './dialog.mjs';

const Proof = lazy(() => import('./proof.mjs'), 'Proof');

const asked = store(null);
let proof = null;
const withdraw = () => asked.get()?.answer(false);
watch_session((what) => what === 'out' && withdraw());
watch_screens(withdraw);

// Whether the user proved who it is. Calls meanwhile wait for the same proof.
function prove_once(needs_code) {
  proof ??= new Promise((resolve) => {
    asked.set({
      needs_code,
      answer(is_fresh) {
        proof = null;
        asked.set(null);
        resolve(is_fresh);
      },
    });
  });
  return proof;
}

// Whether a proof helps: the session is not fresh, or only a proof by the second factor stands in
// for the password.
const wants_proof = ({ code, status }) =>
  code === 'auth.fresh_login_required' || (code === 'auth.factor_required' && status === 422);
const proofs_max = 2;

// Runs `work`; where the service wants a fresh login, the user gives one and it runs again. Throws
// what `work` throws, also when the user gives none. `needs_code`: only a mailed code is a proof,
// as for a first factor that somebody requires; it is also asked for where a password did not do.
export async function with_fresh_login(work, { needs_code = false } = {}) {
  for (let proofs = 0; ; ++proofs) {
    try {
      return await work();
    } catch (error) {
      if (!wants_proof(error) || proofs === proofs_max) throw error;
      if (!(await prove_once(needs_code || proofs > 0))) throw error;
    }
  }
}

export function Confirmation() {
  const t = useWords();
  const question = useStore(asked);
  return (
    question &&
    html`<${Dialog} title=${t('confirm.title')} on_close=${() => question.answer(false)}>
      <${Proof} answer=${question.answer} needs_code=${question.needs_code} /><//>`
  );
}
