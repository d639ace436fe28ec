"""The button that copies the address of the page, with everything that is open on it."""

from __future__ import annotations

import streamlit as st

from isoplan.app import links

HTML = '<button type="button">Copy link</button><span role="status"></span>'
CSS = """
:host, div { text-align: right; }
button {
  font: 400 0.875rem var(--st-font); color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.375rem);
  padding: 0.35rem 0.75rem; cursor: pointer; white-space: nowrap;
}
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
[role="status"] { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""
# The address bar is right even after a slider moved alone; only a link too long for it comes from the server. Without
# HTTPS a browser has no clipboard for a page of another machine, so the text is selected and copied the old way.
JS = """
async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button");
  const status = parentElement.querySelector("[role=status]");
  button.onclick = async () => {
    try {
      await copy(data.saved || window.location.href);
      button.textContent = "Copied";
      status.textContent = "The link is copied.";
    } catch {
      status.textContent = "The browser did not let the link be copied: copy it from the address bar.";
      button.textContent = "Copy it from the address bar";
    }
    setTimeout(() => { button.textContent = "Copy link"; }, 2000);
  };
}
"""

_button = st.components.v2.component("isoplan_copy_link", html=HTML, css=CSS, js=JS)


def copy_link() -> None:
    """A button that puts the address of this page on the clipboard."""
    address = links.here()
    _button(data={"saved": address if "?view=" in address else ""}, key="copy_link")
