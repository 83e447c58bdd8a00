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
  const fields = [...new FormData(form)].filter(([name]) => !["csrf", "once", "step", "confirmed"].includes(name));
  sessionStorage.setItem(KEPT, JSON.stringify({ path: window.location.pathname, fields }));
}

/** The server draws the form again, with a field for everything that was kept, such as each row and translation. */
function restore(form, fields) {
  const kept = document.createElement("form");
  kept.method = "post";
  kept.action = form.action;
  for (const [name, value] of [["csrf", form.elements.csrf.value], ["step", "edit"], ...fields]) {
    const field = document.createElement("input");
    field.type = "hidden";
    [field.name, field.value] = [name, value];
    kept.append(field);
  }
  document.body.append(kept);
  kept.submit();
}

const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
if (kept && document.querySelector(".door")) {
  // The form did not arrive.
  sessionStorage.setItem(KEPT, JSON.stringify({ ...kept, isLost: true }));
} else if (kept) {
  sessionStorage.removeItem(KEPT);
  const form = document.querySelector("form[data-keep]");
  if (form && kept.isLost && kept.path === window.location.pathname) restore(form, kept.fields);
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

document.addEventListener("submit", (event) => {
  if (event.target.dataset.confirm && !confirmed(event.target)) return event.preventDefault();
  if (event.target.matches("[data-keep]")) keep(event.target);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  // Browsers have no clipboard on plain HTTP, and may refuse it: the text is then selected, to be copied by hand.
  const isCopied = await navigator.clipboard?.writeText(source.textContent).then(() => true, () => false);
  if (!isCopied) return getSelection().selectAllChildren(source);
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
