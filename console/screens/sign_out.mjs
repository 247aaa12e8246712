// Signing out, from wherever it is asked for.
import { go } from '../router.mjs';
import { sign_out } from '../session.mjs';
import { toast_error } from '../ui/error.mjs';

export async function sign_out_here() {
  try {
    await sign_out();
    go('/', {}, { replace: true });
  } catch (error) {
    toast_error(error);
  }
}
