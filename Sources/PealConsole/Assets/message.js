// Updates a message's page while it is sent, and draws the speed.

import { localizeTimes } from "./console.js";

const live = document.getElementById("live");
const rates = [];
let last = null;

/** Devices per second, from the difference to the state before. */
function measure() {
  const card = live.querySelector(".progress");
  const now = { at: performance.now(), settled: Number(card.dataset.settled) };
  if (last && now.at - last.at > 100) {
    rates.push(Math.max(0, (now.settled - last.settled) / ((now.at - last.at) / 1000)));
    if (rates.length > 120) rates.shift();
  }
  last = now;
  if (rates.length < 2) return;
  draw(card);
}

function draw(card) {
  const top = Math.max(...rates, 1);
  const points = rates.map((rate, index) => [(index / (rates.length - 1)) * 300, 38 - (rate / top) * 36]);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""));
  const chart = card.querySelector(".rate");
  chart.replaceChildren(path);
  chart.removeAttribute("hidden");
  const label = card.querySelector(".rate-text");
  const number = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 0 });
  label.textContent = label.dataset.text.replace("{}", number.format(rates.at(-1)));
  label.hidden = false;
}

function show(html) {
  live.innerHTML = html;
  localizeTimes(live);
  measure();
}

if (live?.dataset.events) {
  const events = new EventSource(live.dataset.events);
  events.addEventListener("progress", (event) => show(event.data));
  events.addEventListener("end", (event) => {
    events.close();
    show(event.data);
    // The available actions have changed.
    for (const part of document.querySelectorAll(".top form, #rate")) part.remove();
  });
  addEventListener("pagehide", () => events.close());
  measure();
}
