// The way to an identity provider and back, in this tab. The provider's session begins by a cookie
// while the page is away, so the page has to know that it comes back.
const name = 'hostler.back_to';

function take() {
  try {
    const path = sessionStorage.getItem(name);
    sessionStorage.removeItem(name);
    return path;
  } catch {
    return null;
  }
}
const path_before = take();

// Whether the tab left for a provider and this page is the one that it came back to.
export const is_back = () => path_before !== null;
// Where the user was before, or the first screen.
export const back_path = () => path_before || '/';

// Goes to the page of a provider. `path`: the screen that opens afterwards.
export function leave_for(url, path) {
  try {
    sessionStorage.setItem(name, path);
  } catch {
    // The user signs in and sees the sign-in page, until they reload it.
  }
  location.assign(url);
}
