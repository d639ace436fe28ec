// Draws a figure with plotly.js into an element of the page. Later figures change the existing chart.

const CONFIG = { displaylogo: false, modeBarButtonsToRemove: ["autoScale2d", "lasso2d", "select2d"] };
const GRID = "rgba(125, 135, 145, 0.25)";
const LEAST = 240; // smallest height of a figure in pixels
const MARGIN = 16;
const CLEAR = "rgba(0, 0, 0, 0)";

// Return a Plotly template with the font and background of the page, and a grid that is visible on white and on black.
function template(place) {
  const style = getComputedStyle(place);
  const axis = { gridcolor: GRID, linecolor: GRID, zerolinecolor: GRID, automargin: true, title: { standoff: 8 } };
  const page = style.getPropertyValue("--st-background-color") || "#ffffff";
  return {
    layout: {
      font: { family: style.getPropertyValue("--st-font") || "sans-serif", size: 13 },
      paper_bgcolor: CLEAR,
      plot_bgcolor: CLEAR,
      xaxis: axis,
      yaxis: axis,
      hoverlabel: { bgcolor: page, bordercolor: GRID, font: { size: 13 } },
      modebar: { bgcolor: CLEAR, color: "#7d8791", activecolor: "#0072b2" },
    },
  };
}

async function show(place, { figure, alt }) {
  const { data, layout } = JSON.parse(figure);
  const library = await plotly();
  if (place.newest !== figure) return; // a newer figure arrived while plotly.js was loading
  place.setAttribute("aria-label", alt);
  layout.template = template(place);
  layout.width = place.clientWidth;
  layout.height = place.layout?.height ?? layout.height; // keep the height that fits the window
  place.drawn = false;
  await library.react(place, data, layout, CONFIG);
  place.drawn = place.newest === figure;
  fill(place);
}

// Fit the figure to the space that is free in the window. In full screen, the whole page fills the window. Otherwise the
// height decreases until the window shows the container with the key place.visible.
function fill(place) {
  const layout = place.layout;
  if (!place.drawn || !place.isConnected || !place.clientWidth) return;
  const own = JSON.parse(place.newest).layout.height;
  const page = document.querySelector("[data-testid=stMainBlockContainer]");
  const shown = place.visible && place.closest(`.st-key-${place.visible}`);
  let height = own;
  if (document.fullscreenElement === document.documentElement && page) {
    const style = getComputedStyle(page);
    const rest = page.firstElementChild.offsetHeight - place.offsetHeight;
    height = free(rest + parseFloat(style.paddingTop) + parseFloat(style.paddingBottom));
  } else if (shown) {
    const scrolled = document.querySelector("[data-testid=stMain]").scrollTop;
    height = Math.min(own, free(shown.getBoundingClientRect().bottom + scrolled - place.offsetHeight + MARGIN));
  }
  if (height === layout.height && place.clientWidth === layout.width) return;
  for (let one = place; one && one.dataset.testid !== "stVerticalBlock"; one = one.parentElement) {
    for (const [name, value] of [["height", `${height}px`], ["flex", "none"], ["max-height", "none"]]) {
      if (height !== own) one.style.setProperty(name, value, "important");
      else one.style.removeProperty(name);
    }
  }
  window.Plotly.relayout(place, { height, width: place.clientWidth });
}

// Return the part of the window's height that the other elements, of height ``others``, leave free.
function free(others) {
  return Math.max(LEAST, Math.floor(window.innerHeight - others));
}

export default function ({ data, parentElement }) {
  const place = parentElement.querySelector(".isoplan-chart");
  const refill = () => requestAnimationFrame(() => fill(place));
  const observer = new ResizeObserver(refill); // the sidebar changes the size of the page, not of the window
  observer.observe(document.querySelector("[data-testid=stMainBlockContainer]")?.firstElementChild ?? place);
  window.addEventListener("resize", refill);
  const leave = () => {
    observer.disconnect();
    window.removeEventListener("resize", refill);
  };
  place.visible = data.visible;
  if (place.newest === data.figure) return leave;
  place.newest = data.figure;
  show(place, data).catch((error) => {
    place.textContent = `The figure could not be drawn: ${error.message}.`;
  });
  return leave;
}
