// Draws a figure with plotly.js into an element of the page. Later figures change the existing chart.

const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["autoScale2d", "lasso2d", "select2d"] };
const GRID = "rgba(125, 135, 145, 0.25)";
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
  layout.autosize = true;
  delete layout.width;
  layout.height = place.layout?.height ?? layout.height; // keep the height of full screen
  await library.react(place, data, layout, CONFIG);
  fill(place);
}

// In full screen, increase the height of the figure so that the page fills the window. Otherwise, restore the height.
function fill(place) {
  const layout = place.layout;
  if (!layout) return;
  const own = JSON.parse(place.newest).layout.height;
  const page = document.querySelector("[data-testid=stMainBlockContainer]");
  const box = page?.firstElementChild;
  let height = own;
  if (document.fullscreenElement === document.documentElement && box) {
    const style = getComputedStyle(page);
    const around = box.offsetHeight - place.offsetHeight + parseFloat(style.paddingTop) + parseFloat(style.paddingBottom);
    height = Math.max(own, Math.floor(window.innerHeight - around));
  }
  const full = height !== own;
  if (!full && !place.full) return;
  place.full = full;
  for (let one = place; one && one.dataset.testid !== "stVerticalBlock"; one = one.parentElement) {
    for (const [name, value] of [["height", `${height}px`], ["flex", "none"], ["max-height", "none"]]) {
      if (full) one.style.setProperty(name, value, "important");
      else one.style.removeProperty(name);
    }
  }
  window.Plotly.relayout(place, { height, autosize: true });
}

export default function ({ data, parentElement }) {
  const place = parentElement.querySelector(".isoplan-chart");
  const refill = () => setTimeout(() => fill(place), 300); // wait until the rest of the page has its new height
  document.addEventListener("fullscreenchange", refill);
  const leave = () => document.removeEventListener("fullscreenchange", refill);
  if (place.newest === data.figure) return leave;
  place.newest = data.figure;
  show(place, data).catch((error) => {
    place.textContent = `The figure could not be drawn: ${error.message}.`;
  });
  return leave;
}
