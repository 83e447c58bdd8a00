// Sends a long import in parts and shows how far it is. Without it, the form sends everything at once.

const form = document.getElementById("import");
const linesPerPart = 1000;
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

function addRow(body, texts) {
  const titles = [...body.closest("table").querySelectorAll("th")].map((title) => title.textContent);
  const row = body.insertRow();
  for (const [index, text] of texts.entries()) {
    const cell = row.insertCell();
    cell.dataset.label = titles[index];
    cell.textContent = text;
  }
}

form?.addEventListener("submit", async (event) => {
  const lines = form.devices.value.split("\n");
  if (lines.length <= linesPerPart) return;
  event.preventDefault();
  const [panel, button] = [document.getElementById("import-progress"), form.querySelector("button")];
  const [bar, status, table] = [panel.querySelector("progress"), panel.querySelector("p"), panel.querySelector("tbody")];
  let first = 0;
  const total = { created: 0, updated: 0, refused: 0 };
  const say = () =>
    (status.textContent = ["created", "updated", "refused"].reduce(
      (text, name) => text.replace("{}", number.format(total[name])), status.dataset.text));
  panel.hidden = false;
  button.disabled = true;
  table.replaceChildren();
  [bar.value, status.textContent] = [0, ""];
  try {
    for (; first < lines.length; first += linesPerPart) {
      const result = await send(lines.slice(first, first + linesPerPart), first);
      total.created += result.created;
      total.updated += result.updated;
      total.refused += result.refused.length;
      for (const item of result.refused) {
        if (table.rows.length < 1000) addRow(table, [number.format(item.line), item.message]);
      }
      bar.value = Math.min(1, (first + linesPerPart) / lines.length);
      say();
    }
  } catch (error) {
    const { ended, failed } = form.dataset;
    const reasons = [error.message === ended ? ended : "", failed.replace("{}", number.format(first + 1))];
    status.textContent = [status.textContent, ...reasons].filter(Boolean).join(" ");
  }
  button.disabled = false;
});
