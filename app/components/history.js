// Streamlit adds an entry to the browser's history for each parameter that the server writes to the address. The server
// writes the parameters of a page one after the other, and it removes them before it opens another page. Back would
// therefore open pages in a state that was never shown. This script adds at most one entry of a page for each action of
// the user: the first write adds the entry, and later writes replace it. The entry of a page that the user leaves keeps
// its parameters. A click on a link to another page adds an entry of the page that the user leaves only if the user has
// changed a field of this page since its last entry.
(() => {
  const push = history.pushState.bind(history);
  let acted = false, written = true, changed = false, left = null;
  const leaves = (target) => {
    const link = target?.closest?.("a[href]");
    return Boolean(link) && new URL(link.href, location.href).pathname !== location.pathname;
  };
  addEventListener("input", () => { changed = true; }, true);
  for (const event of ["pointerdown", "keydown", "popstate"]) {
    addEventListener(event, ({ target }) => {
      acted = event !== "popstate";
      written = !acted || (leaves(target) && !changed);
      left = null;
    }, true);
  }
  const lacks = (next, now) =>
    next.search !== now.search
    && [...next.searchParams].every(([name, value]) => now.searchParams.getAll(name).includes(value));
  history.pushState = (state, title, to) => {
    const now = new URL(location.href), next = new URL(to, now);
    let add = !written;
    if (next.pathname === now.pathname) {
      if (lacks(next, now)) left ??= { href: now.href, kept: add };
    } else {
      add = acted && !left?.kept;
      if (add && left) history.replaceState(state, title, left.href);
      left = null;
    }
    written = true;
    changed = false;
    if (add) push(state, title, to);
    else history.replaceState(state, title, to);
  };
})();
