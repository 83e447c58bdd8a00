// What every page does in the browser: local times, confirmations before deletions, files dropped into fields.

const own = navigator.languages.find((language) => language.startsWith(document.documentElement.lang));
const locale = own ?? document.documentElement.lang;
const zoned = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });

/** Shows the times below `root` in the viewer's zone; the exact instant stays in the tooltip. */
export function localizeTimes(root = document) {
  for (const element of root.querySelectorAll("time[datetime*='T']")) {
    const instant = new Date(element.dateTime);
    if (Number.isNaN(instant.getTime())) continue;
    element.textContent = zoned.format(instant);
    element.title = `${exact.format(instant)} · ${element.dateTime}`;
  }
}

localizeTimes();

/** Groups the calendar by the viewer's days; the server groups it by days in UTC. */
function regroupDays(days) {
  const day = new Intl.DateTimeFormat(locale, { dateStyle: "full" });
  const hour = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
  const entries = days.flatMap((section) => [...section.querySelectorAll("li")])
    .map((item) => ({ item, time: item.querySelector("time"), at: new Date(item.querySelector("time").dateTime) }))
    .sort((one, other) => one.at - other.at);
  const groups = new Map();
  for (const { item, time, at } of entries) {
    time.textContent = hour.format(at);
    const title = day.format(at);
    groups.set(title, [...(groups.get(title) ?? []), item]);
  }
  const sections = [...groups].reverse().map(([title, items]) => {
    const section = days[0].cloneNode(true);
    section.querySelector("h2").textContent = title;
    section.querySelector("ul").replaceChildren(...items);
    return section;
  });
  days[0].before(...sections);
  for (const section of days) section.remove();
}

const days = [...document.querySelectorAll(".day")];
if (days.length > 0) regroupDays(days);

if (document.querySelector("[data-pending]")) setTimeout(() => window.location.reload(), 1000);

// What was filled in is kept until the next page shows that it arrived: the session may have ended, and then the form
// is filled in again after signing in.
const KEPT = "kept";

function keep(form) {
  const fields = [...new FormData(form)].filter(([name]) => !["csrf", "once", "step", "rows"].includes(name));
  sessionStorage.setItem(KEPT, JSON.stringify({ path: window.location.pathname, fields }));
}

/** Sets a field. Returns whether it had another value. */
function set(field, values) {
  if (["checkbox", "radio"].includes(field.type)) {
    const had = field.checked;
    field.checked = values.includes(field.value);
    return field.checked !== had;
  }
  if (values.length !== 1 || field.value === values[0]) return false;
  field.value = values[0];
  return true;
}

function fillIn(form, fields) {
  for (const field of form.elements) {
    const values = fields.filter(([name]) => name === field.name).map(([, value]) => value);
    if (set(field, values)) field.closest("details")?.setAttribute("open", "");
  }
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
if (kept && !document.querySelector(".door")) {
  sessionStorage.removeItem(KEPT);
  const form = document.querySelector("form[data-keep]");
  if (form && kept.path === window.location.pathname) fillIn(form, kept.fields);
}

document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-keep]")) keep(event.target);
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard?.writeText(source.textContent);
  button.textContent += " ✓";
  button.disabled = true;
});

// A file that is dropped on a field becomes its text; a binary file becomes base64.
const text = new TextDecoder("utf-8", { fatal: true });

async function read(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return text.decode(bytes);
  } catch {
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  }
}

/** Writes a file's text into a field. Apple names the files of its keys after their ids. */
async function take(file, field) {
  field.value = await read(file);
  const id = field.form?.elements.key_id;
  const name = /^AuthKey_([A-Z0-9]{10})\.p8$/.exec(file.name);
  if (id && !id.value && name) id.value = name[1];
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// A refused form begins at what is wrong, also if it is in a closed part.
const wrong = document.querySelector("[aria-invalid]");
for (let part = wrong?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
wrong?.focus();

for (const field of document.querySelectorAll("[data-drop]")) {
  for (const kind of ["dragover", "dragleave", "drop"]) {
    field.addEventListener(kind, (event) => {
      event.preventDefault();
      field.classList.toggle("over", kind === "dragover");
    });
  }
  field.addEventListener("drop", async (event) => {
    const [file] = event.dataTransfer.files;
    if (file) await take(file, field);
  });
  const picker = document.createElement("input");
  picker.type = "file";
  picker.accept = field.dataset.accept ?? "";
  picker.setAttribute("aria-label", field.labels[0]?.textContent ?? field.name);
  picker.addEventListener("change", async () => {
    if (picker.files[0]) await take(picker.files[0], field);
  });
  field.after(picker);
}
