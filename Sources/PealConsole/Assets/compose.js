// Updates the count and the previews while the author types, and proposes the viewer's time zone.

const form = document.getElementById("compose");
const aside = document.getElementById("check");
const problem = document.getElementById("problem");
let timer = null;
let running = null;

/** Screen readers hear what is wrong when it changes. */
function announce() {
  const text = [...aside.querySelectorAll(".notice, .error")].map((each) => each.textContent).join(" ");
  if (problem.textContent !== text) problem.textContent = text;
}

/** The count stays in its place, so that screen readers hear it when it changes, and do not hear the previews. */
function show(html) {
  const fragment = document.createRange().createContextualFragment(html);
  const [shown, count] = [aside.querySelector(".count"), fragment.querySelector(".count")];
  if (!shown || !count) return aside.replaceChildren(fragment);
  if (shown.textContent !== count.textContent) shown.textContent = count.textContent;
  count.remove();
  while (shown.nextSibling) shown.nextSibling.remove();
  shown.after(fragment);
}

/** The session may have ended: nothing is known. */
function forget() {
  const count = aside.querySelector(".count");
  if (count) count.textContent = "–";
}

async function check() {
  running?.abort();
  running = new AbortController();
  const request = fetch(form.dataset.check, {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
    signal: running.signal,
    redirect: "error",
  });
  const answer = await request.catch((error) => (error.name === "AbortError" ? null : Response.error()));
  if (answer === null) return;
  if (!answer.ok) return forget();
  const html = await answer.text().catch(() => null);
  if (html === null) return;
  const open = new Set([...aside.querySelectorAll("details[open]")].map((details) => details.className));
  show(html);
  for (const details of aside.querySelectorAll("details")) details.open = open.has(details.className);
  announce();
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(check, 250);
});

const zone = form.querySelector("[data-zone]");
if (zone && !zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
