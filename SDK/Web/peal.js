// @ts-check
/**
 * Peal in a web page: asks for permission, subscribes to pushes and registers the browser with a Peal server. What
 * happens in the background is in `peal-worker.js`, which also keeps the device's token: it never reaches the page.
 *
 * @module peal
 */

/** The version of this file. */
export const version = "1.0.0";

/** Milliseconds that the worker may take for a request to the server. */
const PATIENCE = 30_000;

/**
 * @typedef {object} ConnectOptions
 * @property {string | URL} server The server's address, such as `https://push.example.com`.
 * @property {string} key The app's device key.
 * @property {string | URL | ServiceWorkerRegistration} worker The address of `peal-worker.js` on the page's own origin, of
 *   a worker of yours that imports it, or a registration of such a worker.
 * @property {string} [user_id] Who uses the page. Without it, the browser has no user; if no `connect` has ever named
 *   one, it keeps the user that a backend set.
 * @property {string} [user_proof] Your backend's signed statement that this person signed in.
 * @property {string[]} [topics] The only topics of the browser, which replace all others. Without it, a known browser
 *   keeps its topics.
 * @property {Record<string, string | number | boolean>} [attributes] Facts by which a backend chooses audiences, at
 *   most 4,096 bytes of JSON. A change replaces all others. Without it, or if the server has confirmed the same, a
 *   known browser keeps its attributes.
 * @property {Record<string, string>} [identifiers] Ids of the browser in other systems, such as `devtodev_id`. A change
 *   replaces all others. Without it, or if the server has confirmed the same, a known browser keeps its identifiers.
 */

/**
 * @typedef {object} Connection
 * @property {string} device The device's id on the server.
 * @property {(topic: string) => Promise<void>} subscribe Subscribes to a topic.
 * @property {(topic: string) => Promise<void>} unsubscribe Unsubscribes from a topic.
 * @property {(content: string, message?: string) => Promise<void>} opened Reports that the person opened content.
 * @property {() => Promise<void>} disconnect Ends the push subscription and deletes the device on the server.
 */

/** Why something did not work. */
export class PealError extends Error {
  /**
   * @param {"unsupported" | "denied" | "unreachable" | "refused"} code What kind of failure it is.
   * @param {string} message What happened.
   * @param {{status?: number, field?: string}} [details] The server's status, and the field that is at fault.
   */
  constructor(code, message, details = {}) {
    super(message);
    this.name = "PealError";
    this.code = code;
    this.status = details.status;
    this.field = details.field;
  }
}

/** Whether this browser can receive pushes. */
export function isSupported() {
  const isPush = "PushManager" in globalThis && "Notification" in globalThis;
  return isPush && "serviceWorker" in navigator && "locks" in navigator && "timeout" in AbortSignal;
}

/**
 * Connects this browser. Call it in response to a click, because browsers ask for permission only then. It may be called
 * again at any time, such as at every visit and when the person signs in or out.
 *
 * @param {ConnectOptions} options
 * @returns {Promise<Connection>}
 * @throws {PealError} `unsupported`, `denied` by the person, `unreachable`, or `refused` by the server.
 */
export async function connect(options) {
  if (!isSupported()) throw new PealError("unsupported", "this browser does not support push notifications");
  const server = serverAddress(options.server);
  if ((await Notification.requestPermission()) !== "granted") {
    throw new PealError("denied", "the person does not allow notifications");
  }
  return inTurn(() => connected(server, options));
}

/**
 * Changes of the connection, in all tabs one after the other, so that the last one wins.
 * @template T
 * @param {() => Promise<T>} change
 * @returns {Promise<T>}
 */
const inTurn = (change) => navigator.locks.request("peal-connection", change);

/**
 * @param {string} server
 * @param {ConnectOptions} options
 * @returns {Promise<Connection>}
 */
async function connected(server, options) {
  const registration = await registered(options.worker);
  await active(registration);
  const former = await subscribedKey(registration);
  let answer = former
    ? await register(registration, former, server, options).catch(unlessKeyIsRefused) : undefined;
  // The answer names the app's newest key, so that a visit needs one request. Older servers do not name it.
  const key = answer?.application_server_key ?? (await applicationServerKey(server, options.key));
  if (!answer || key !== former) answer = await register(registration, key, server, options);
  return {
    device: answer.device,
    subscribe: (topic) => command(registration, "topic", { topic, isSubscribed: true }),
    unsubscribe: (topic) => command(registration, "topic", { topic, isSubscribed: false }),
    opened: (content, message) => command(registration, "opened", { content, message }),
    disconnect: () => inTurn(() => disconnected(registration)),
  };
}

/**
 * Registers the browser with a subscription under this key.
 * @param {ServiceWorkerRegistration} registration
 * @param {string} key
 * @param {string} server
 * @param {ConnectOptions} options
 * @returns {Promise<{device: string, application_server_key?: string}>}
 */
async function register(registration, key, server, options) {
  const { endpoint, keys } = (await subscribed(registration, key)).toJSON();
  return command(registration, "register", {
    server,
    key: options.key,
    registration: {
      platform: "web",
      address: { endpoint, keys, application_server_key: key },
      user_id: options.user_id,
      user_proof: options.user_proof,
      topics: options.topics,
      identifiers: options.identifiers,
      attributes: options.attributes,
      locale: navigator.language,
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      sdk_version: version,
      capabilities: { nse_ledger: false, background: false, alerts: true, scheduled_summary: false },
    },
  });
}

/**
 * The app no longer has the subscription's key, or never had it.
 * @param {any} error
 */
function unlessKeyIsRefused(error) {
  if (error.field !== "address.application_server_key") throw error;
  return undefined;
}

/** @param {ServiceWorkerRegistration} registration */
async function disconnected(registration) {
  await command(registration, "disconnect", {});
  try {
    // The browser may have replaced the first one since.
    await (await registration.pushManager.getSubscription())?.unsubscribe();
  } catch (error) {
    throw new PealError("unreachable", `the browser did not end the subscription: ${error}`);
  }
}

/**
 * @param {string | URL} given
 * @returns {string} The address without a slash at its end.
 */
function serverAddress(given) {
  /** @type {URL | undefined} */
  let url;
  try {
    url = new URL(given);
  } catch {
    // Refused below.
  }
  // An address that is not complete would lead to the page's own server.
  if (!url || !["http:", "https:"].includes(url.protocol) || url.search || url.hash || url.username) {
    throw new PealError("refused", `"${given}" is not the address of a server, such as https://push.example.com`);
  }
  return url.href.replace(/\/+$/, "");
}

/**
 * @param {string | URL | ServiceWorkerRegistration} worker
 * @returns {Promise<ServiceWorkerRegistration>}
 */
async function registered(worker) {
  if (worker instanceof ServiceWorkerRegistration) return worker;
  try {
    return await navigator.serviceWorker.register(worker, { type: "module" });
  } catch (error) {
    // Browsers without module workers, and workers that use importScripts.
    return navigator.serviceWorker.register(worker).catch(() => {
      // A script that cannot be loaded is one error, whatever the reason.
      const code = navigator.onLine ? "unsupported" : "unreachable";
      throw new PealError(code, `the service worker cannot be registered: ${error}`);
    });
  }
}

/**
 * Waits until the worker runs.
 * @param {ServiceWorkerRegistration | undefined} registration Undefined in browsers whose extensions block workers.
 * @returns {Promise<ServiceWorker>}
 */
function active(registration) {
  const worker = registration?.active ?? registration?.waiting ?? registration?.installing;
  return new Promise((resolve, reject) => {
    if (!worker) return reject(new PealError("unsupported", "there is no service worker"));
    const check = () => {
      if (worker.state === "activated") resolve(worker);
      if (worker.state === "redundant") reject(new PealError("unsupported", "the service worker did not start"));
    };
    worker.addEventListener("statechange", check);
    check();
  });
}

/**
 * @param {string} server
 * @param {string} key
 * @returns {Promise<string>} The app's VAPID key, base64url.
 */
async function applicationServerKey(server, key) {
  let response;
  try {
    response = await fetch(`${server}/peal/device/v1/web`, {
      headers: { authorization: `Bearer ${key}` }, signal: /** @type {any} */ (AbortSignal).timeout(PATIENCE),
    });
  } catch {
    throw new PealError("unreachable", "the server does not answer");
  }
  const answer = await response.json().catch(() => undefined);
  const isBusy = [408, 425, 429].includes(response.status) || response.status >= 500;
  if (!response.ok && (isBusy || typeof answer?.error?.code === "string")) {
    const message = answer?.error?.message ?? `the server answers ${response.status}`;
    throw new PealError("refused", message, { status: response.status });
  }
  // A page of a network that wants a login is no answer of the server.
  if (!response.ok || typeof answer?.application_server_key !== "string") {
    throw new PealError("unreachable", "what answers is not a Peal server, or a network that wants a login");
  }
  return answer.application_server_key;
}

/**
 * The key of the subscription that the browser has, base64url; undefined if it has none or does not name its key.
 * @param {ServiceWorkerRegistration} registration
 */
async function subscribedKey(registration) {
  const known = await registration.pushManager.getSubscription().catch(() => null);
  const bytes = known?.options?.applicationServerKey;
  return bytes ? encode(new Uint8Array(bytes)) : undefined;
}

/**
 * A subscription under this key; one under another key is replaced.
 * @param {ServiceWorkerRegistration} registration
 * @param {string} key
 * @returns {Promise<PushSubscription>}
 */
async function subscribed(registration, key) {
  const bytes = decode(key);
  try {
    const known = await registration.pushManager.getSubscription();
    const knownKey = known?.options?.applicationServerKey;
    if (known && knownKey && equal(new Uint8Array(knownKey), bytes)) return known;
    await known?.unsubscribe();
    return await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes });
  } catch (error) {
    const isDenied = error instanceof DOMException && error.name === "NotAllowedError";
    throw new PealError(isDenied ? "denied" : "unreachable", `the browser did not subscribe: ${error}`);
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} Base64url.
 */
function encode(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {string} text Base64url. */
function decode(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

/**
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 */
function equal(one, other) {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/**
 * Lets the worker do something: the one that is active now, because a new version may have replaced it since the page was
 * loaded.
 * @param {ServiceWorkerRegistration} registration
 * @param {string} name
 * @param {object} value
 * @returns {Promise<any>}
 */
async function command(registration, name, value) {
  const worker = await active(registration);
  // The proxies in which a framework wraps an app's values cannot be sent.
  const plain = JSON.parse(JSON.stringify(value));
  return new Promise((resolve, reject) => {
    const channel = new MessageChannel();
    // A worker that does not import peal-worker.js never answers.
    const timer = setTimeout(() => {
      channel.port1.close();
      reject(new PealError("unreachable", "the service worker does not answer; does it import peal-worker.js?"));
    }, PATIENCE);
    channel.port1.onmessage = ({ data }) => {
      clearTimeout(timer);
      channel.port1.close();
      if (data.error) {
        reject(new PealError(data.error.code, data.error.message, data.error));
      } else {
        resolve(data.value);
      }
    };
    worker.postMessage({ peal: name, value: plain }, [channel.port2]);
  });
}
