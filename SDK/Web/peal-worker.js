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
      const renewed = await register(known.server, known.key, known.registration);
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
    for (;;) {
      const all = await transaction((_, events) => events.getAll());
      if (all.length === 0) return;
      const batch = all.sort((one, other) => one.queued - other.queued).slice(0, EVENTS_MAX);
      try {
        await authorized("POST", "events", batch.map(({ queued, ...event }) => event));
      } catch (error) {
        const isFinal = error instanceof Failure && [400, 413].includes(error.status);
        // A full queue loses its oldest events rather than growing forever.
        const lost = isFinal ? batch : all.slice(0, Math.max(0, all.length - QUEUE_MAX));
        await forget(lost);
        if (!isFinal) return;
      }
      await forget(batch);
    }
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
    if (given.title !== undefined || given.body !== undefined) {
      const { title, body, icon, image, badge, actions, tag, requireInteraction, data } = given;
      const silent = isRepeated || given.silent === true;
      await worker.registration.showNotification(String(title ?? ""), /** @type {NotificationOptions} */ ({
        body, icon, image, badge, actions, requireInteraction, silent, tag: tag ?? message,
        data: { peal: message, url: given.url ?? data?.url, data, actions },
      }));
    }
    if (!message) return;
    await report(
      isRepeated
        ? [{ message, type: "suppressed", reason: "duplicate" }]
        : [{ message, type: "received" }, ...(given.title ?? given.body) !== undefined ? [{ message, type: "shown" }] : []]);
  }

  /**
   * Opens what the notification, or the button, points to.
   * @param {any} data
   * @param {string} button
   */
  async function open(data, button) {
    const action = (data?.actions ?? []).find((/** @type {any} */ one) => one.action === button);
    const url = new URL(action?.url ?? data?.url ?? "/", worker.location.origin);
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

  worker.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew()));

  /** The browser replaced the subscription: the server gets the new one. */
  async function renew() {
    const known = await device();
    if (!known) return;
    const key = known.registration.address.application_server_key;
    const bytes = Uint8Array.from(
      atob(key.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const subscription =
      (await worker.registration.pushManager.getSubscription()) ??
      (await worker.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes }));
    const { endpoint, keys } = subscription.toJSON();
    const address = { endpoint, keys, application_server_key: key };
    await register(known.server, known.key, { ...known.registration, address });
  }

  // Commands of the page ---------------------------------------------------------------------------------------------

  /** @type {Record<string, (value: any) => Promise<any>>} */
  const commands = {
    async register({ server, key, registration }) {
      const registered = await register(server, key, registration);
      await flush();
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
})();
