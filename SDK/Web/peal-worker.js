// @ts-check
/// <reference lib="webworker" />
/**
 * Peal in a service worker: shows the pushes that arrive, reports what becomes of them, and keeps the device's token. Its
 * handlers are attached when it is loaded. It has neither imports nor exports, so that it works as a module and as a
 * script: register it itself, import it into a worker of yours, or load it with `importScripts`.
 */
(() => {
  const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
  const EVENTS_MAX = 200;
  const QUEUE_MAX = 1000;
  const SEEN_MAX = 200;
  const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

  /**
   * @typedef {object} Device What the worker keeps of a registration.
   * @property {string} server
   * @property {string} key
   * @property {Record<string, any>} registration
   * @property {string} device
   * @property {string} device_token
   * @property {number} ahead Milliseconds that the server's clock is ahead.
   * @property {boolean} [isStale] Whether the server does not have the browser's present address yet.
   */

  // Storage ----------------------------------------------------------------------------------------------------------

  /** @returns {Promise<IDBDatabase>} */
  function database() {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open("peal", 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("values");
        request.result.createObjectStore("events", { keyPath: "event_id" });
      };
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  /**
   * One transaction; resolves when it is durable.
   * @template T
   * @param {(values: IDBObjectStore, events: IDBObjectStore) => IDBRequest<T> | void} body
   * @returns {Promise<T>}
   */
  async function transaction(body) {
    const opened = await database();
    try {
      return await new Promise((resolve, reject) => {
        const running = opened.transaction(["values", "events"], "readwrite", { durability: "strict" });
        const request = body(running.objectStore("values"), running.objectStore("events"));
        running.oncomplete = () => resolve(/** @type {T} */ (request ? request.result : undefined));
        running.onerror = running.onabort = () => reject(running.error);
      });
    } finally {
      opened.close();
    }
  }

  /** @returns {Promise<Device | undefined>} */
  const device = () => transaction((values) => values.get("device"));

  /** @param {Device | undefined} value */
  const setDevice = (value) =>
    transaction((values) => void (value ? values.put(value, "device") : values.delete("device")));

  /**
   * Notes that a message was shown.
   * @param {string} id
   * @returns {Promise<boolean>} Whether it had been shown before.
   */
  async function wasSeen(id) {
    let isKnown = false;
    await transaction((values) => {
      const request = values.get("seen");
      request.onsuccess = () => {
        const seen = /** @type {string[]} */ (request.result ?? []);
        isKnown = seen.includes(id);
        if (!isKnown) values.put([...seen, id].slice(-SEEN_MAX), "seen");
      };
    });
    return isKnown;
  }

  // Server -----------------------------------------------------------------------------------------------------------

  /** What a call failed with; `status` 0 means that nothing came back. */
  class Failure extends Error {
    /**
     * @param {number} status
     * @param {string} [message]
     * @param {string} [field]
     */
    constructor(status, message, field) {
      super(message ?? (status ? `the server answers ${status}` : "the server does not answer"));
      this.status = status;
      this.field = field;
      this.code = status ? "refused" : "unreachable";
    }
  }

  /**
   * @param {string} server
   * @param {string} bearer
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  async function call(server, bearer, method, path, body) {
    /** @type {Record<string, string>} */
    const headers = { authorization: `Bearer ${bearer}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    let response;
    try {
      response = await fetch(`${server}/peal/device/v1/${path}`, {
        method, headers, body: body === undefined ? undefined : JSON.stringify(body), redirect: "error",
        credentials: "omit",
      });
    } catch {
      throw new Failure(0);
    }
    const answer = await response.json().catch(() => undefined);
    if (!response.ok) throw new Failure(response.status, answer?.error?.message, answer?.error?.field);
    return answer;
  }

  /**
   * Registers and keeps the answer.
   * @param {string} server
   * @param {string} key
   * @param {Record<string, any>} registration
   * @returns {Promise<Device>}
   */
  async function register(server, key, registration) {
    const known = await device();
    const isKnown = known?.server === server && known?.key === key;
    const answer = await call(server, key, "POST", "register", {
      ...registration, device_token: isKnown ? known?.device_token : undefined,
    });
    const value = {
      server, key, registration, device: answer.device, device_token: answer.device_token,
      ahead: Date.parse(answer.now) - Date.now() || 0,
    };
    await setDevice(value);
    return value;
  }

  /**
   * Registers the known browser again. A proof that has expired meanwhile costs the user, not the device.
   * @param {Device} known
   * @returns {Promise<Device>}
   */
  async function registerAgain(known) {
    try {
      return await register(known.server, known.key, known.registration);
    } catch (error) {
      if (!(error instanceof Failure) || error.field !== "user_proof") throw error;
      const { user_id, user_proof, ...anonymous } = known.registration;
      return register(known.server, known.key, anonymous);
    }
  }

  /**
   * A call with the device's token. A token that has ended is replaced, once.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async function authorized(method, path, body) {
    const known = await device();
    if (!known) throw new Failure(401, "the browser is not registered");
    try {
      return await call(known.server, known.device_token, method, path, body);
    } catch (error) {
      if (!(error instanceof Failure) || error.status !== 401) throw error;
      const renewed = await registerAgain(known);
      return call(renewed.server, renewed.device_token, method, path, body);
    }
  }

  // Reports ----------------------------------------------------------------------------------------------------------

  /**
   * Queues events and sends what waits. What cannot be sent stays for the next opportunity.
   * @param {Record<string, any>[]} given
   */
  async function report(given) {
    const ahead = (await device())?.ahead ?? 0;
    const at = new Date(Date.now() + ahead).toISOString();
    await transaction((_, events) => {
      given.forEach((event, index) =>
        // The fraction keeps the order of events of one millisecond.
        events.put({ event_id: crypto.randomUUID(), at, queued: Date.now() + index / EVENTS_MAX, ...event }));
    });
    await flush();
  }

  async function flush() {
    await renewIfStale().catch(syncLater);
    let size = EVENTS_MAX;
    for (;;) {
      const all = await transaction((_, events) => events.getAll());
      if (all.length === 0) return;
      const batch = all.sort((one, other) => one.queued - other.queued).slice(0, size);
      try {
        await authorized("POST", "events", batch.map(({ queued, ...event }) => event));
      } catch (error) {
        const isFinal = error instanceof Failure && [400, 413].includes(error.status);
        if (!isFinal) {
          // A full queue loses its oldest events rather than growing forever.
          await forget(all.slice(0, Math.max(0, all.length - QUEUE_MAX)));
          syncLater();
          return;
        }
        if (batch.length > 1) {
          // One of them is at fault: only that one is lost.
          size = 1;
          continue;
        }
      }
      await forget(batch);
    }
  }

  /** Asks the browser to start the worker when there is a network again; few browsers do that (Background Sync). */
  function syncLater() {
    const { sync } = /** @type {any} */ (worker.registration);
    // Not awaited: a browser may ask the person first.
    void sync?.register("peal").catch(() => {});
  }

  /** @param {{event_id: string}[]} batch */
  const forget = (batch) =>
    transaction((_, events) => {
      for (const event of batch) events.delete(event.event_id);
    });

  // Pushes -----------------------------------------------------------------------------------------------------------

  /**
   * @param {PushMessageData | null} data
   * @returns {Record<string, any>}
   */
  function payload(data) {
    try {
      const value = data?.json();
      if (value && typeof value === "object" && !Array.isArray(value)) return value;
      return { body: String(value ?? "") };
    } catch {
      return { body: data?.text() ?? "" };
    }
  }

  /**
   * @param {Record<string, any>} given
   * @returns {string | undefined} The message's id.
   */
  function messageID(given) {
    const found = [given.peal?.message, given._k, given.receiptId, given.task_id].find(
      (id) => typeof id === "string" && UUID.test(id));
    return found?.toLowerCase();
  }

  /** @param {Record<string, any>} given */
  async function show(given) {
    const message = messageID(given);
    const isRepeated = message ? await wasSeen(message).catch(() => false) : false;
    const hasText = given.title !== undefined || given.body !== undefined;
    const isShown = hasText && (await present(given, message, isRepeated));
    if (!message) return;
    if (isRepeated) return report([{ message, type: "suppressed", reason: "duplicate" }]);
    const outcome = isShown ? { message, type: "shown" } : { message, type: "suppressed", reason: "no_permission" };
    await report([{ message, type: "received" }, ...(hasText ? [outcome] : [])]);
  }

  /**
   * Shows a notification. If the browser refuses what the author wrote, such as actions that are no list, title and body
   * are shown alone.
   * @param {Record<string, any>} given
   * @param {string | undefined} message
   * @param {boolean} isRepeated
   * @returns {Promise<boolean>} Whether it was shown: not if the person took the permission back.
   */
  async function present(given, message, isRepeated) {
    const { body, icon, image, badge, actions, requireInteraction, data } = given;
    const title = String(given.title ?? "");
    const always = {
      silent: isRepeated || given.silent === true, tag: String(given.tag ?? message ?? ""),
      data: { peal: message, url: given.url ?? data?.url, data, actions: Array.isArray(actions) ? actions : [] },
    };
    const options = /** @type {NotificationOptions} */ ({ ...always, body, icon, image, badge, actions, requireInteraction });
    const plain = body === undefined ? always : { ...always, body: String(body) };
    try {
      await worker.registration.showNotification(title, options);
    } catch {
      try {
        await worker.registration.showNotification(title, plain);
      } catch {
        return false;
      }
    }
    return true;
  }

  /**
   * The page that an author names, or the site's first one.
   * @param {unknown} address
   * @returns {URL}
   */
  function target(address) {
    const { origin } = worker.location;
    try {
      return new URL(String(address ?? "/"), origin);
    } catch {
      return new URL(origin);
    }
  }

  /**
   * Opens what the notification, or the button, points to.
   * @param {any} data
   * @param {string} button
   */
  async function open(data, button) {
    const action = (data?.actions ?? []).find((/** @type {any} */ one) => one?.action === button);
    const url = target(action?.url ?? data?.url);
    const windows = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
    const known = windows.find((client) => client.url === url.href) ?? (data?.url || action?.url ? undefined : windows[0]);
    for (const client of windows) {
      client.postMessage({ peal: "opened", message: data?.peal, button: button || undefined, data: data?.data });
    }
    if (known) {
      await known.focus();
    } else if (["http:", "https:"].includes(url.protocol)) {
      await worker.clients.openWindow(url.href);
    }
  }

  worker.addEventListener("push", (event) => event.waitUntil(show(payload(event.data))));

  worker.addEventListener("notificationclick", (event) => {
    const { data } = event.notification;
    event.notification.close();
    const message = data?.peal;
    const receipt = message ? report([{ message, type: "opened", button: event.action || undefined }]) : undefined;
    // A browser opens a window only soon after the click, so the receipt must not delay it or keep it from opening.
    event.waitUntil(Promise.allSettled([open(data, event.action), receipt]));
  });

  worker.addEventListener("notificationclose", (event) => {
    const message = event.notification.data?.peal;
    if (message) event.waitUntil(report([{ message, type: "dismissed" }]));
  });

  // The browser replaced or ended the subscription. No push will start the worker until the server has the new one, so
  // what cannot be done now is noted and tried again whenever the worker runs.
  worker.addEventListener(
    "pushsubscriptionchange", (/** @type {any} */ event) => event.waitUntil(markStale().then(flush)));

  worker.addEventListener("sync", (/** @type {any} */ event) => {
    if (event.tag === "peal") event.waitUntil(flush());
  });

  async function markStale() {
    const known = await device();
    if (known) await setDevice({ ...known, isStale: true });
  }

  /** @type {Promise<void>} */
  let renewal = Promise.resolve();

  /** One after the other: several flushes may run at once, and one renewal is enough. */
  function renewIfStale() {
    const renewed = renewal.then(async () => {
      const known = await device();
      if (known?.isStale) await renew(known);
    });
    renewal = renewed.catch(() => {});
    return renewed;
  }

  /**
   * Subscribes again and gives the server the new address.
   * @param {Device} known
   */
  async function renew(known) {
    const key = known.registration.address.application_server_key;
    const bytes = Uint8Array.from(
      atob(key.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const subscription =
      (await worker.registration.pushManager.getSubscription()) ??
      (await worker.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes }));
    const { endpoint, keys } = subscription.toJSON();
    const address = { endpoint, keys, application_server_key: key };
    await registerAgain({ ...known, registration: { ...known.registration, address } });
  }

  // Commands of the page ---------------------------------------------------------------------------------------------

  /** @type {Record<string, (value: any) => Promise<any>>} */
  const commands = {
    async register({ server, key, registration }) {
      const registered = await register(server, key, registration);
      // The page waits for the device only.
      void flush();
      return { device: registered.device };
    },
    async topic({ topic, isSubscribed }) {
      await authorized(isSubscribed ? "PUT" : "DELETE", `topics/${encodeURIComponent(topic)}`);
    },
    async opened({ content, message }) {
      await report([{ type: "content_opened", content: String(content).slice(0, 255), message }]);
    },
    async disconnect() {
      const known = await device();
      if (!known) return;
      await call(known.server, known.device_token, "DELETE", "registration").catch((error) => {
        if (error.status !== 401) throw error;
      });
      await transaction((values, events) => {
        values.clear();
        events.clear();
      });
    },
  };

  worker.addEventListener("message", (event) => {
    const run = commands[event.data?.peal];
    const port = event.ports[0];
    // Only pages of the worker's own origin can send messages to it (HTML, "postMessage" of service workers).
    if (!run || !port) return;
    event.waitUntil(
      run(event.data.value).then(
        (value) => port.postMessage({ value }),
        (error) =>
          port.postMessage({
            error: { code: error.code ?? "refused", message: String(error.message), status: error.status, field: error.field },
          })));
  });

  worker.addEventListener("install", () => void worker.skipWaiting());
  worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
  void flush();
})();
