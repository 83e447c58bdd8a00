// Subscribes this browser to Web Push and posts the subscription with the page's form.

const section = document.getElementById("browser");
const form = section?.querySelector("form");

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));

async function subscribe() {
  if (!window.isSecureContext) throw new Error("insecure");
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) throw new Error("unsupported");
  if ((await Notification.requestPermission()) !== "granted") throw new Error("denied");
  const registration = await navigator.serviceWorker.register(section.dataset.worker, { scope: "/console/" });
  await navigator.serviceWorker.ready;
  const earlier = await registration.pushManager.getSubscription();
  await earlier?.unsubscribe();
  const options = { userVisibleOnly: true, applicationServerKey: bytes(section.dataset.key) };
  const { endpoint, keys } = (await registration.pushManager.subscribe(options)).toJSON();
  return { endpoint, keys, application_server_key: section.dataset.key };
}

form?.addEventListener("submit", async (event) => {
  if (form.subscription.value) return;
  event.preventDefault();
  const error = form.querySelector(".error");
  error.hidden = true;
  try {
    form.subscription.value = JSON.stringify(await subscribe());
    form.time_zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
    form.requestSubmit();
  } catch (reason) {
    error.textContent = section.dataset[reason.message] ?? `${section.dataset.refused} (${reason.message})`;
    error.hidden = false;
  }
});
