// Shows the whole page without the browser around it; the same button leaves. A new screen starts at the top. After a drag
// of the slider the arrow keys change the screen again: the slider keeps them only if it was reached by the keyboard.
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
  const release = () => setTimeout(() => document.activeElement?.closest("[data-testid=stSlider]")
    && document.activeElement.blur(), 300);
  document.addEventListener("fullscreenchange", label);
  document.addEventListener("pointerup", release);
  label();
  return () => {
    document.removeEventListener("fullscreenchange", label);
    document.removeEventListener("pointerup", release);
  };
}
