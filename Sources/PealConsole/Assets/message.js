// Updates a message's page while it is sent, and draws the speed.

import { locale, localizeTimes } from "./console.js";

const live = document.getElementById("live");
const pace = document.getElementById("pace");
const said = document.getElementById("said");
const rates = [];
const ratesMax = 120;
let last = null;
let announced = null;

const language = document.documentElement.lang;
const number = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });

/** Devices per second, from the difference to the state before. */
function measure() {
  // The message has ended, and the page waits only for its last outcomes.
  if (!pace) return;
  const card = live.querySelector(".progress");
  const now = { at: performance.now(), settled: Number(card.dataset.settled) };
  const seconds = last ? (now.at - last.at) / 1000 : 0;
  if (seconds > 0.1) {
    rates.push({ at: new Date(), value: Math.max(0, (now.settled - last.settled) / seconds) });
    if (rates.length > ratesMax) rates.shift();
    addRow(rates.at(-1));
  }
  last = now;
  if (rates.length > 1) draw();
}

function addRow({ at, value }) {
  const row = document.createElement("tr");
  const titles = [...pace.querySelectorAll("th")].map((title) => title.textContent);
  for (const [index, text] of [clock.format(at), number.format(value)].entries()) {
    const cell = row.insertCell();
    cell.dataset.label = titles[index];
    cell.className = index ? "num" : "";
    cell.textContent = text;
  }
  const body = pace.querySelector("tbody");
  body.prepend(row);
  if (body.rows.length > ratesMax) body.deleteRow(-1);
}

function draw() {
  const top = Math.max(...rates.map((rate) => rate.value), 1);
  const points = rates.map((rate, index) => [(index / (rates.length - 1)) * 300, 38 - (rate.value / top) * 36]);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""));
  pace.querySelector(".rate").replaceChildren(path);
  const label = pace.querySelector("figcaption");
  label.textContent = label.dataset.text.replace("{}", number.format(rates.at(-1).value));
  pace.hidden = false;
}

/** A selector that finds the focused element again after its part of the page was replaced. */
function selector(element) {
  const link = element.getAttribute("href");
  if (link) return `a[href="${CSS.escape(link)}"]`;
  const form = element.form?.getAttribute("action");
  if (form) return `form[action="${CSS.escape(form)}"] button`;
  const label = element.getAttribute("aria-label");
  return label ? `[aria-label="${CSS.escape(label)}"]` : null;
}

/** Replaces a part of the page. If the element with the focus is gone, the page gets the focus. */
function replace(part, html) {
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const name = focused && selector(focused);
  part.innerHTML = html;
  if (focused) ((name && part.querySelector(name)) ?? document.getElementById("main")).focus({ preventScroll: true });
  localizeTimes(part);
}

function show(html) {
  replace(live, html);
  measure();
  announce();
  removeRate();
}

/** A message that has ended has no rate, even while its last outcomes arrive. */
function removeRate() {
  const rate = document.getElementById("rate");
  if (!rate || !live.querySelector("[data-final]")) return;
  replace(rate, "");
  rate.remove();
}

/** Announces a new state, or that devices wait, to screen readers. Announcing every number would be too much. */
function announce() {
  const [state, held] = [live.querySelector("[data-state]"), live.querySelector(".notice ul")];
  const current = `${state.dataset.state} ${held !== null}`;
  if (announced === current) return;
  if (announced !== null) {
    said.textContent =
      `${state.textContent}: ${live.querySelector(".figure").textContent} ${held?.textContent ?? ""}`.trim();
  }
  announced = current;
}

if (live?.dataset.events) {
  const events = new EventSource(live.dataset.events);
  events.addEventListener("progress", (event) => show(event.data));
  events.addEventListener("details", (event) => replace(document.getElementById("details"), event.data));
  events.addEventListener("actions", (event) => {
    const actions = document.querySelector(".top .actions");
    // The second of two clicks must not press the button that replaces the first one.
    if (actions && !actions.querySelector("[aria-busy]")) replace(actions, event.data);
  });
  events.addEventListener("end", (event) => {
    events.close();
    show(event.data);
  });
  // The browser reconnects by itself unless the server refuses, such as after the end of the session.
  events.addEventListener("error", () => {
    if (events.readyState !== EventSource.CLOSED) return;
    const notice = document.createElement("p");
    notice.className = "notice warn";
    notice.textContent = said.textContent = live.dataset.stale;
    live.before(notice);
  });
  addEventListener("pagehide", () => events.close());
  announce();
  measure();
}
