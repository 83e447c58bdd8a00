// Downloads the devices and shows how many have arrived. Without it, the link downloads them.

const section = document.getElementById("export");
const link = section?.querySelector("a");
const [panel, total] = [section?.querySelector(".stack"), Number(section?.dataset.count)];
// More would not fit into the memory of a page; the browser then downloads them itself.
const devicesMax = 200_000;

async function download() {
  const [bar, status] = [panel.querySelector("progress"), panel.querySelector("p")];
  panel.hidden = false;
  const answer = await fetch(link.href, { redirect: "manual" });
  // To the sign-in page.
  if (answer.type === "opaqueredirect") throw new Error(section.dataset.ended);
  if (!answer.ok) throw new Error(String(answer.status));
  const number = new Intl.NumberFormat(document.documentElement.lang);
  const parts = [];
  let lines = 0;
  for (const reader = answer.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    for (const byte of value) if (byte === 10) lines += 1;
    bar.value = total ? Math.min(1, lines / total) : 1;
    status.textContent = section.dataset.text
      .replace("{}", number.format(lines)).replace("{}", number.format(Math.max(total, lines)));
  }
  bar.value = 1;
  const blob = new Blob(parts, { type: "application/x-ndjson" });
  const isIncomplete = (await blob.slice(-20).text()).endsWith('{"incomplete":true}\n');
  if (isIncomplete) status.textContent += ` ${section.dataset.incomplete}`;
  const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "devices.jsonl";
  const file = document.createElement("a");
  file.href = URL.createObjectURL(blob);
  file.download = name;
  file.click();
  setTimeout(() => URL.revokeObjectURL(file.href), 60_000);
}

link?.addEventListener("click", async (event) => {
  if (total > devicesMax) return;
  event.preventDefault();
  try {
    await download();
  } catch (error) {
    const { ended, failed } = section.dataset;
    panel.querySelector("p").textContent = error.message === ended ? ended : failed;
  }
});
