// The invitation that waits while its user signs in or registers, in the memory of this page.
let token = '';
export const waiting_invitation = () => token;
export function keep_invitation(given) {
  token = given;
}

// Where who has just signed in goes on.
export const next_path = () => (token ? '/invitation' : '/');
