// Shows the whole page without the browser around it; the same button leaves. A new screen starts at the top.
export default function ({ data, parentElement }) {
  if (window.isoplanScreen !== data.screen) document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0 });
  window.isoplanScreen = data.screen;
  const button = parentElement.querySelector("button");
  const label = () => { button.textContent = document.fullscreenElement ? "Leave full screen" : "Full screen"; };
  button.onclick = async () => {
    try {
      if (document.fullscreenElement) await document.exitFullscreen();
      else await document.documentElement.requestFullscreen();
    } catch {
      button.textContent = "Press F11";
    }
  };
  document.addEventListener("fullscreenchange", label);
  label();
  return () => document.removeEventListener("fullscreenchange", label);
}
