// A button that switches full screen on and off. Each new screen of a story is shown from its top. After a click, the
// slider and the page lose the focus: the arrow keys then change the screen, and no frame of focus is drawn around the page.
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
  const release = () => setTimeout(() => {
    const focused = document.activeElement;
    if (focused?.closest("[data-testid=stSlider]") || focused?.matches("[data-testid=stMain]")) focused.blur();
  }, 300);
  document.addEventListener("fullscreenchange", label);
  document.addEventListener("pointerup", release);
  label();
  return () => {
    document.removeEventListener("fullscreenchange", label);
    document.removeEventListener("pointerup", release);
  };
}
