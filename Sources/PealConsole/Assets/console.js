// What every page does in the browser: local times, confirmations before deletions, files dropped into fields.

const own = navigator.languages.find((language) => language.startsWith(document.documentElement.lang));
export const locale = own ?? document.documentElement.lang;
const zoned = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const wall = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
const date = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });

/** Shows the times below `root` in the viewer's zone; the exact instant stays in the tooltip. */
export function localizeTimes(root = document) {
  for (const element of root.querySelectorAll("time[datetime*='T']")) {
    const instant = new Date(element.dateTime);
    if (Number.isNaN(instant.getTime())) continue;
    element.textContent = zoned.format(instant);
    element.title = `${exact.format(instant)} · ${element.dateTime}`;
  }
  // Days in UTC, and times that every recipient's clock shows, which have a space.
  for (const element of root.querySelectorAll("time:not([datetime*='T'])")) {
    const [day, hour] = element.dateTime.split(" ");
    const instant = new Date(hour ? `${day}T${hour}Z` : day);
    if (!Number.isNaN(instant.getTime())) element.textContent = (hour ? wall : date).format(instant);
  }
}

localizeTimes();

/** Groups the calendar by the viewer's days; the server groups it by days in UTC. */
function regroupDays(days) {
  const day = new Intl.DateTimeFormat(locale, { dateStyle: "full" });
  const hour = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
  const entries = days.flatMap((section) => [...section.querySelectorAll("li")])
    .map((item) => ({ item, time: item.querySelector("time") }))
    // A time that every recipient's clock shows has a space, which not every browser reads.
    .map((entry) => ({ ...entry, at: new Date(entry.time.dateTime.replace(" ", "T")) }))
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

// What was typed is kept in the window's storage, without secrets: until the next page shows that the form arrived,
// because the session may have ended; and for Back and reloading, under the key in the page's history entry. It is not
// kept in the history itself, from which signing out could not remove it.
const [KEPT, LOST, HOLDER] = ["kept ", "lost", "holder"];
const unkept = ["csrf", "step", "confirmed", "ask"];

/** Where a form is sent, the step that shows it again, and its fields. */
function contents(form) {
  const secrets = [...form.elements].filter((field) => field.matches("[type=password], [data-secret]"));
  const left = [...unkept, ...secrets.map((field) => field.name)];
  const fields = [...new FormData(form)].filter(([name]) => !left.includes(name));
  // A field may have the name of a property of the form.
  return { action: form.getAttribute("action"), step: form.dataset.keep, fields };
}

/** Returns whether the browser stored it: a window has room for a few megabytes. */
function put(name, value) {
  try {
    sessionStorage.setItem(name, value);
    return true;
  } catch {
    return false;
  }
}

function keptKeys() {
  return Object.keys(sessionStorage).filter((key) => key.startsWith(KEPT)).sort();
}

/** Stores what a form contains, if necessary in place of the oldest. Returns its key; null if there is no room. */
function keep(kept) {
  const [key, text, older] = [KEPT + Date.now(), JSON.stringify(kept), keptKeys()];
  while (!put(key, text)) {
    if (older.length === 0) return null;
    sessionStorage.removeItem(older.shift());
  }
  return key;
}

function kept(key) {
  return JSON.parse((key && sessionStorage.getItem(key)) ?? "null");
}

function forget() {
  for (const key of [...keptKeys(), LOST]) sessionStorage.removeItem(key);
}

/** Records which form is being sent. */
function note(lost) {
  if (!put(LOST, JSON.stringify(lost))) sessionStorage.removeItem(LOST);
}

/** Makes the browser load the page's history entry with GET, without asking whether to send a form again. */
function remember(key) {
  if (key && history.state?.key) sessionStorage.removeItem(history.state.key);
  history.replaceState(key && { key }, "");
}

/** Asks the server for the form with a field for everything that was kept, such as each row and translation. */
function restore(csrf, key) {
  const { action, step, fields } = kept(key);
  const form = document.createElement("form");
  form.method = "post";
  form.action = action;
  for (const [name, value] of [["csrf", csrf], step ? ["step", step] : ["redraw", "1"], ...fields]) {
    const field = document.createElement("input");
    field.type = "hidden";
    [field.name, field.value] = [name, value];
    form.append(field);
  }
  document.body.append(form);
  // The page that follows takes over this entry.
  remember(null);
  note({ key, isLost: false, isAgain: true });
  form.submit();
}

const holder = document.querySelector("[data-holder]")?.dataset.holder;
if (holder && sessionStorage.getItem(HOLDER) !== holder) {
  // Another person typed it.
  forget();
  put(HOLDER, holder);
}
const lost = JSON.parse(sessionStorage.getItem(LOST) ?? "null");
if (document.querySelector(".door")) {
  // The form did not arrive. Restore it only once, because the server might refuse each time.
  const isTried = lost?.isAgain && !document.querySelector("form[action='/console/sign-in']");
  if (lost && !isTried) note({ ...lost, isLost: true });
  else sessionStorage.removeItem(LOST);
  remember(null);
} else {
  sessionStorage.removeItem(LOST);
  // The page that shows it again keeps it under a key of its own.
  if (lost?.isAgain && !lost.isLost) sessionStorage.removeItem(lost.key);
  const forms = [...document.querySelectorAll("form[data-keep]")];
  const sent = forms.find((form) => form.matches("[data-sent]"));
  // A link to the current page reuses the history entry, but opens an empty form.
  const isReturn = performance.getEntriesByType("navigation")[0]?.type !== "navigate";
  const key = lost?.isLost ? lost.key : isReturn ? history.state?.key : null;
  const goal = sent ? null : forms.find((form) => form.getAttribute("action") === kept(key)?.action);
  if (goal) restore(goal.elements.csrf.value, key);
  else remember(sent ? keep(contents(sent)) : null);
}

/** The server asks by a page of its own unless the form says that the question was answered. */
function confirmed(form) {
  if (!window.confirm(form.dataset.confirm)) return false;
  if (form.elements.confirmed) return true;
  const field = document.createElement("input");
  field.type = "hidden";
  [field.name, field.value] = ["confirmed", "1"];
  form.append(field);
  return true;
}

// A button that is pressed again while a slow server answers would act twice. The hold ends by itself, because the
// visitor may have stopped loading the answer.
const busyMilliseconds = 10_000;

function hold(form) {
  form.setAttribute("aria-busy", "true");
  setTimeout(() => form.removeAttribute("aria-busy"), busyMilliseconds);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[aria-busy]")) return event.preventDefault();
  if (form.dataset.confirm && !confirmed(form)) return event.preventDefault();
  if (event.defaultPrevented || form.getAttribute("method") !== "post") return;
  hold(form);
  if (form.getAttribute("action").startsWith("/console/sign-out")) forget();
  if (!form.matches("[data-keep]")) return;
  const key = keep(contents(form));
  remember(key);
  if (key) note({ key });
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  // Browsers have no clipboard on plain HTTP, and may refuse it: the text is then selected, to be copied by hand.
  const isCopied = await navigator.clipboard?.writeText(source.textContent).then(() => true, () => false);
  if (!isCopied) return getSelection().selectAllChildren(source);
  // A disabled button would lose the focus.
  if (!button.textContent.endsWith("✓")) button.textContent += " ✓";
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

// A refused form begins at what is wrong, even if it is in a closed part.
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
