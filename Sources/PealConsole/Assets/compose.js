// Updates the count and the previews while the author types, and proposes the viewer's time zone.

const form = document.getElementById("compose");
const aside = document.getElementById("check");
const said = document.getElementById("said");
let timer = null;
let running = null;

async function check() {
  running?.abort();
  running = new AbortController();
  try {
    const answer = await fetch(form.dataset.check, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      signal: running.signal,
      redirect: "error",
    });
    if (answer.ok) {
      const open = aside.querySelector("details[open]") !== null;
      aside.innerHTML = await answer.text();
      if (open) for (const details of aside.querySelectorAll("details")) details.open = true;
      // Screen readers hear the count and what is wrong, not the previews.
      const parts = [...aside.querySelectorAll(".count, .notice, .error")].map((part) => part.textContent.trim());
      if (said.textContent !== parts.join(". ")) said.textContent = parts.join(". ");
    }
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(check, 250);
});

const zone = form.querySelector("[data-zone]");
if (zone && !zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
