// Load plotly.js from the server of Isoplan when it is first used, and only once per page.

const root = window.__streamlit?.BACKEND_BASE_URL ?? new URL("./", window.location.href).href;

function plotly() {
  window.isoplanPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}vendor/plotly.min.js`;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      window.isoplanPlotly = undefined;
      reject(new Error("the drawing library did not load"));
    };
    document.head.append(script);
  });
  return window.isoplanPlotly;
}

