// The link is the address in the address bar, which is always current. A link that is too long comes from the server
// (``data.saved``). Browsers allow clipboard access only on HTTPS and localhost. On other pages, the text is selected
// and copied with execCommand.
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
