// Sends a long import in parts, shows how far it is, and offers all refused rows as a file. Without it, the form sends
// everything at once.

const form = document.getElementById("import");
const linesPerPart = 1000;
const rowsShown = Number(form?.dataset.rows);
const number = new Intl.NumberFormat(document.documentElement.lang);

async function send(lines, first) {
  const fields = new URLSearchParams({ csrf: form.csrf.value, first: String(first), devices: lines.join("\n") });
  const headers = { Accept: "application/json" };
  const answer = await fetch(form.action, { method: "POST", body: fields, headers, redirect: "manual" });
  // To the sign-in page.
  if (answer.type === "opaqueredirect") throw new Error(form.dataset.ended);
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

function titles(table) {
  return [...table.querySelectorAll("th")].map((title) => title.textContent);
}

function addRow(table, texts) {
  const row = table.tBodies[0].insertRow();
  for (const [index, text] of texts.entries()) {
    const cell = row.insertCell();
    cell.dataset.label = titles(table)[index];
    cell.textContent = text;
  }
}

/** A value of a CSV file. Spreadsheets would compute a text that begins like a formula. */
function quoted(value) {
  const text = String(value);
  return `"${(/^[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

/** Spreadsheets recognize UTF-8 by the mark at its beginning. */
function file(rows) {
  const text = rows.map((row) => row.map(quoted).join(",") + "\r\n").join("");
  return new Blob(["\uFEFF", text], { type: "text/csv;charset=utf-8" });
}

/** Replaces each gap of a text. */
function filled(text, values) {
  return values.reduce((text, value) => text.replace("{}", number.format(value)), text);
}

/** Lists the refused rows that are not listed yet, until there are enough. */
function list(refused, table) {
  const listed = table.tBodies[0].rows.length;
  for (const item of refused.slice(listed, rowsShown)) addRow(table, [number.format(item.line), item.message]);
  table.parentElement.hidden = refused.length === 0;
}

/** Offers all refused rows as a file, and says whether the list lacks some. */
function offerFile(refused, table, offer) {
  const [hint, link] = [offer.querySelector("p"), offer.querySelector("a")];
  offer.hidden = refused.length === 0;
  hint.textContent = refused.length > rowsShown ? filled(hint.dataset.text, [rowsShown, refused.length]) : "";
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(file([titles(table), ...refused.map((item) => [item.line, item.message])]));
}

form?.addEventListener("submit", async (event) => {
  const lines = form.devices.value.split("\n");
  if (lines.length <= rowsShown) return;
  event.preventDefault();
  if (form.matches("[aria-busy]")) return;
  const panel = document.getElementById("import-progress");
  const [bar, status, table, offer] = ["progress", "p", "table", ".row"].map((name) => panel.querySelector(name));
  let first = 0;
  const total = { created: 0, updated: 0 };
  const refused = [];
  panel.hidden = false;
  // A disabled button would lose the focus.
  form.setAttribute("aria-busy", "true");
  table.tBodies[0].replaceChildren();
  list(refused, table);
  offer.hidden = true;
  [bar.value, status.textContent] = [0, ""];
  try {
    for (; first < lines.length; first += linesPerPart) {
      const result = await send(lines.slice(first, first + linesPerPart), first);
      total.created += result.created;
      total.updated += result.updated;
      refused.push(...result.refused);
      list(refused, table);
      bar.value = Math.min(1, (first + linesPerPart) / lines.length);
      status.textContent = filled(status.dataset.text, [total.created, total.updated, refused.length]);
    }
  } catch (error) {
    const { ended, failed } = form.dataset;
    const reasons = [error.message === ended ? ended : "", failed.replace("{}", number.format(first + 1))];
    status.textContent = [status.textContent, ...reasons].filter(Boolean).join(" ");
  }
  offerFile(refused, table, offer);
  form.removeAttribute("aria-busy");
});
