// Draws a figure off screen with plotly.js and saves it as an SVG or PDF file.

const done = new Set();

async function svgOf(figure) {
  const { width, height } = figure.layout;
  const address = await (await plotly()).toImage(figure, { format: "svg", width, height });
  return decodeURIComponent(address.slice(address.indexOf(",") + 1));
}

// Set the physical size of the SVG. One inch has 96 pixels; the caller converts pixels to ``unit`` with ``scale``.
function sized(svg, { width, height }, scale, unit) {
  const tree = new DOMParser().parseFromString(svg, "image/svg+xml");
  tree.documentElement.setAttribute("width", `${(width * scale).toFixed(3)}${unit}`);
  tree.documentElement.setAttribute("height", `${(height * scale).toFixed(3)}${unit}`);
  tree.documentElement.removeAttribute("style");
  return new XMLSerializer().serializeToString(tree);
}

async function pdfOf(svg) {
  const answer = await fetch(`${root}api/pdf`, {
    method: "POST",
    headers: { "Content-Type": "image/svg+xml" },
    body: svg,
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.blob();
}

async function fileOf({ figure, format }) {
  const drawn = JSON.parse(figure);
  const svg = await svgOf(drawn);
  if (format === "pdf") return pdfOf(sized(svg, drawn.layout, 72 / 96, ""));
  return new Blob([sized(svg, drawn.layout, 25.4 / 96, "mm")], { type: "image/svg+xml" });
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export default async function ({ data, parentElement }) {
  if (done.has(data.id)) return;
  done.add(data.id);
  const status = parentElement.querySelector("[role=status]");
  status.textContent = "Drawing …";
  try {
    save(await fileOf(data), `${data.name}.${data.format}`);
    status.textContent = `${data.name}.${data.format} is ready.`;
  } catch (error) {
    status.textContent = `The file was not made: ${error.message}.`;
  }
}
