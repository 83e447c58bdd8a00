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
  /** Milliseconds for a request: less than the page waits, so that it learns what happened. */
  const PATIENCE = 25_000;
  const PAUSE_MAX = 3_600_000;
  const FAILURES_MAX = 12;
  /** The events that prove that a message was displayed. */
  const RECEIPTS = ["shown", "opened", "dismissed"];
  /** What a page states about the browser, and a backend may change. */
  const FACTS = ["attributes", "identifiers"];
  const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

  /**
   * @typedef {object} Device What the worker keeps of a registration.
   * @property {string} server
   * @property {string} key
   * @property {Record<string, any>} registration
   * @property {string} device
   * @property {string} device_token
   * @property {number} ahead Milliseconds that the server's clock is ahead.
   * @property {boolean} [hasUser] Whether the page has ever named a user.
   * @property {string[]} [unsure] The facts that were stated without an answer: the server may know them or not.
   * @property {string} [application_server_key] The app's newest VAPID key; undefined if the server does not name it.
   * @property {boolean} [isStale] Whether the server does not have the browser's current address yet.
   * @property {string[]} [lacking] Topics of the page that a device that is new on the server does not have yet.
   */

  /**
   * @typedef {object} Pause When to try the server again.
   * @property {number} failures
   * @property {number} until By the browser's clock.
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

  /**
   * Changes the value that is stored by then.
   * @template T
   * @param {string} name
   * @param {(former: T | undefined) => T | undefined} body What to store; undefined for no change.
   */
  const change = (name, body) =>
    transaction((values) => {
      const request = values.get(name);
      request.onsuccess = () => {
        const value = body(request.result);
        if (value !== undefined) values.put(value, name);
      };
    });

  /** The server's time, in milliseconds. */
  const serverTime = async () => Date.now() + ((await device())?.ahead ?? 0);

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
        credentials: "omit", signal: /** @type {any} */ (AbortSignal).timeout(PATIENCE),
      });
    } catch {
      throw new Failure(0);
    }
    const answer = await response.json().catch(() => undefined);
    if (!response.ok) {
      if (isBusy(response.status)) await beginPause(response.headers.get("retry-after"));
      // Only Peal's own refusals are final. Others are from something in between, such as a network that wants a login;
      // but what it says of the size of a request is true.
      const isFinal = typeof answer?.error?.code === "string" || response.status === 413;
      if (!isFinal && !isBusy(response.status)) throw new Failure(0);
      throw new Failure(response.status, answer?.error?.message, answer?.error?.field);
    }
    // A page of a network that wants a login is no answer of the server.
    const isEmpty = response.status === 204 && method !== "POST";
    if (!isEmpty && typeof answer?.now !== "string") throw new Failure(0);
    await noteSuccess(answer?.now);
    return answer;
  }

  /**
   * Ends the pause, and takes the server's time: the person may have set the browser's clock since the registration.
   * @param {string | undefined} now As the answer states it.
   */
  const noteSuccess = (now) =>
    transaction((values) => {
      values.delete("pause");
      const ahead = Date.parse(now ?? "") - Date.now();
      if (Number.isNaN(ahead)) return;
      const request = values.get("device");
      request.onsuccess = () => {
        if (request.result) values.put({ ...request.result, ahead }, "device");
      };
    });

  // Pauses -----------------------------------------------------------------------------------------------------------

  /** @param {number} status */
  const isBusy = (status) => [408, 425, 429].includes(status) || status >= 500;

  /**
   * Whether it is too early for what can wait. An end beyond the longest pause is from a clock that was set back.
   * @param {Pause | undefined} pause
   */
  const holds = (pause) => !!pause && pause.until > Date.now() && pause.until - Date.now() <= PAUSE_MAX;

  const isPaused = async () => holds(await transaction((values) => values.get("pause")));

  /**
   * Notes the pause that the server asks for; without a duration, it is twice as long as the one before.
   * @param {string | null} header Its `Retry-After`.
   */
  async function beginPause(header) {
    const asked = milliseconds(header, await serverTime());
    let until = 0;
    await change("pause", (/** @type {Pause | undefined} */ former) => {
      const running = former && holds(former) ? former : undefined;
      // Requests that were under way together fail for the same reason, so a pause that is running does not double.
      const failures = running?.failures ?? Math.min((former?.failures ?? 0) + 1, FAILURES_MAX);
      const delay = Math.min(Math.max(asked ?? 2 ** failures * 1000, 1000), PAUSE_MAX);
      until = Math.max(running?.until ?? 0, Date.now() + delay);
      return { failures, until };
    });
    // The browser may end the worker before; then whatever starts it sends what waits.
    setTimeout(() => void flush(), until - Date.now());
  }

  /**
   * @param {string | null} header Seconds or a date (RFC 9110, 10.2.3).
   * @param {number} now The server's time.
   * @returns {number | undefined}
   */
  function milliseconds(header, now) {
    if (header && /^\d+$/.test(header)) return Number(header) * 1000;
    const date = Date.parse(header ?? "");
    return Number.isNaN(date) ? undefined : date - now;
  }

  // Registration -----------------------------------------------------------------------------------------------------

  /**
   * Changes of the registration, one after the other, so that each decides by what the former one stored. A lock also
   * holds back another version of the worker. Only the outermost step takes it: it would wait for itself otherwise.
   * @template T
   * @param {() => Promise<T>} step
   * @returns {Promise<T>}
   */
  const inTurn = (step) => worker.navigator.locks.request("peal-registration", step);

  /**
   * Registers and keeps the answer, with the topics, attributes and identifiers of the page. Those that are absent stay
   * as they are, on the server too: a backend may have changed them. So do facts that the server has confirmed.
   * @param {string} server
   * @param {string} key
   * @param {Record<string, any>} registration
   * @returns {Promise<Device>}
   */
  async function register(server, key, registration) {
    const stored = await device();
    const known = stored?.server === server && stored.key === key ? stored : undefined;
    const hasUser = known?.hasUser || registration.user_id !== undefined;
    const facts = factsOf({ ...known?.registration, ...factsOf(registration) });
    const news = factsOf(registration, (name, fact) =>
      known?.unsure?.includes(name) || canonical(fact) !== canonical(known?.registration[name]));
    if (known) await note(hasUser, Object.keys(news));
    const { attributes, identifiers, ...rest } = registration;
    const keep_user = hasUser ? undefined : true;
    const send = (/** @type {Record<string, any>} */ stated, /** @type {string | undefined} */ device_token) =>
      call(server, key, "POST", "register", { ...rest, ...stated, keep_user, device_token });
    let answer = await send(news, known?.device_token);
    const isKnown = answer.device_token === known?.device_token;
    if (!isKnown && Object.keys(facts).some((name) => !(name in news))) {
      // The server has not accepted the token, and has therefore kept only the topics.
      answer = await send({ ...facts, topics: undefined }, answer.device_token);
    }
    const topics = registration.topics ?? known?.registration.topics ?? [];
    const lacking = answer.device === known?.device ? known?.lacking : topics;
    const value = {
      server, key, registration: { ...rest, ...facts, topics }, device: answer.device,
      device_token: answer.device_token, ahead: Date.parse(answer.now) - Date.now() || 0, hasUser,
      unsure: isKnown ? known?.unsure?.filter((name) => !(name in news)) : [],
      application_server_key: answer.application_server_key,
      lacking: registration.topics ? [] : lacking ?? [],
    };
    // The browser may have replaced the subscription meanwhile.
    const subscription = await currentSubscription();
    const isOther = subscription?.toJSON().endpoint !== registration.address.endpoint;
    await change("device", (/** @type {Device | undefined} */ latest) => (
      { ...value, isStale: subscription ? isOther : latest?.isStale }));
    return value;
  }

  /**
   * The facts of a registration that it contains and that are wanted.
   * @param {Record<string, any>} registration
   * @param {(name: string, fact: any) => boolean} [isWanted]
   * @returns {Record<string, any>}
   */
  const factsOf = (registration, isWanted = () => true) =>
    Object.fromEntries(
      FACTS.map((name) => [name, registration[name]]).filter(([name, fact]) => fact != null && isWanted(name, fact)));

  /**
   * A text that is the same for equal facts; undefined for none, which does not equal an empty one.
   * @param {Record<string, any> | undefined} fact
   */
  const canonical = (fact) => fact && JSON.stringify(Object.entries(fact).sort());

  /**
   * Notes, before a request, what the server may know even if the answer is lost.
   * @param {boolean} hasUser Whether the page decides about the user from now on.
   * @param {string[]} facts
   */
  const note = (hasUser, facts) =>
    change("device", (/** @type {Device | undefined} */ known) => {
      const unsure = [...new Set([...(known?.unsure ?? []), ...facts])];
      const isNoted = !!known?.hasUser === hasUser && unsure.length === (known?.unsure ?? []).length;
      return known && !isNoted ? { ...known, hasUser, unsure } : undefined;
    });

  /**
   * Registers the known browser again, without topics, attributes and identifiers: they would replace those that a
   * backend has set. A proof that has expired meanwhile costs the user, not the device.
   * @param {Device} known
   * @returns {Promise<Device>}
   */
  async function registerAgain({ server, key, registration: { topics, attributes, identifiers, ...registration } }) {
    try {
      return await register(server, key, registration);
    } catch (error) {
      if (!(error instanceof Failure) || error.field !== "user_proof") throw error;
      const { user_id, user_proof, ...anonymous } = registration;
      return register(server, key, anonymous);
    }
  }

  /**
   * A call with the device's token. A token that has ended is replaced, once.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {(step: () => Promise<Device>) => Promise<Device>} [turn] How it waits for its turn to replace the token; by
   *   default behind other changes of the registration.
   */
  async function authorized(method, path, body, turn = inTurn) {
    const known = await device();
    if (!known) throw new Failure(401, "the browser is not registered");
    try {
      return await call(known.server, known.device_token, method, path, body);
    } catch (error) {
      if (!(error instanceof Failure) || error.status !== 401) throw error;
      const renewed = await turn(() => replace(known.device_token));
      return call(renewed.server, renewed.device_token, method, path, body);
    }
  }

  /**
   * Replaces a token that has ended, unless there is another one by now, or none since the page disconnected.
   * @param {string} ended
   * @returns {Promise<Device>}
   */
  async function replace(ended) {
    const known = await device();
    if (!known) throw new Failure(401, "the browser is not registered");
    return known.device_token === ended ? registerAgain(known) : known;
  }

  // Reports ----------------------------------------------------------------------------------------------------------

  /**
   * Queues events and sends what waits. What cannot be sent stays for the next opportunity. Nothing is queued after the
   * page disconnected: the next device, perhaps of another person, would report it.
   * @param {Record<string, any>[]} given
   */
  async function report(given) {
    const at = new Date(await serverTime()).toISOString();
    await transaction((values, events) => {
      const known = values.get("device");
      known.onsuccess = () => {
        if (known.result) queue(given, at, events);
      };
    });
    await flush();
  }

  /**
   * @param {Record<string, any>[]} given
   * @param {string} at
   * @param {IDBObjectStore} events
   */
  function queue(given, at, events) {
    given.forEach((event, index) =>
      // The fraction keeps the order of events of one millisecond.
      events.put({ event_id: crypto.randomUUID(), at, queued: Date.now() + index / EVENTS_MAX, ...event }));
    const request = events.getAll();
    request.onsuccess = () => surplus(request.result).forEach((event) => events.delete(event.event_id));
  }

  /** @param {any[]} events */
  const oldestFirst = (events) => events.sort((one, other) => one.queued - other.queued);

  /**
   * What a full queue loses: the oldest events that prove no display, then the oldest ones.
   * @param {any[]} events
   */
  function surplus(events) {
    const isReceipt = (/** @type {any} */ event) => RECEIPTS.includes(event.type);
    const all = oldestFirst(events);
    const order = [...all.filter((event) => !isReceipt(event)), ...all.filter(isReceipt)];
    return order.slice(0, Math.max(0, all.length - QUEUE_MAX));
  }

  /** @type {Promise<unknown>} */
  let sending = Promise.resolve();
  /** @type {Promise<boolean> | undefined} */
  let next;

  /**
   * Sends what waits, after the sending that is under way: several at once would send the same.
   * @returns {Promise<boolean>} Whether nothing is left.
   */
  function attempt() {
    if (!next) {
      next = sending.then(() => {
        next = undefined;
        return send();
      });
      sending = next.catch(() => {});
    }
    return next;
  }

  /** Sends what waits, or asks for another opportunity. */
  async function flush() {
    if (!(await attempt())) syncLater();
  }

  /** @returns {Promise<boolean>} Whether nothing is left. */
  async function send() {
    const isRenewed = !(await isPaused()) && (await renewed());
    let size = EVENTS_MAX;
    while (!(await isPaused())) {
      const all = await transaction((_, events) => events.getAll());
      if (all.length === 0) return (await restored()) && isRenewed;
      const batch = oldestFirst(all).slice(0, size);
      try {
        await authorized("POST", "events", batch.map(({ queued, ...event }) => event));
      } catch (error) {
        const isFinal = error instanceof Failure && [400, 413].includes(error.status);
        if (!isFinal) return false;
        if (batch.length > 1) {
          // One of them is at fault: only that one is lost.
          size = 1;
          continue;
        }
      }
      await forget(batch);
    }
    return false;
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
    const hasText = [given.title, given.body].some((text) => (text ?? "") !== "");
    const isShown = hasText ? await present(given, message, isRepeated) : await presentQuietly();
    if (!message) return;
    if (isRepeated) return report([{ message, type: "suppressed", reason: "duplicate" }]);
    const outcome = isShown ? { message, type: "shown" } : { message, type: "suppressed", reason: "no_permission" };
    await report([{ message, type: "received" }, ...(hasText ? [outcome] : [])]);
  }

  /**
   * Shows that a push without text arrived, because the subscription promises that every push is visible
   * (`userVisibleOnly`): Chromium shows a notice of its own otherwise, and Safari withdraws the permission. Chromium
   * accepts a silent push while the person has the page before them, Safari does not
   * (https://webkit.org/blog/12945/meet-web-push/). The notification does not name the message, because the person
   * does not see its content.
   * @returns {Promise<boolean>} Whether it was shown.
   */
  async function presentQuietly() {
    // Of the browsers only Chromium's have this member.
    if ("userAgentData" in worker.navigator) {
      const windows = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
      if (windows.some((client) => client.focused && client.visibilityState === "visible")) return false;
    }
    return present({ title: worker.location.host, tag: "peal" }, undefined, true);
  }

  /**
   * Shows a notification. If the browser refuses what the author wrote, such as actions that are no list, title and body
   * are shown alone.
   * @param {Record<string, any>} given
   * @param {string | undefined} message
   * @param {boolean} isSilent
   * @returns {Promise<boolean>} Whether it was shown: not if the person took the permission back.
   */
  async function present(given, message, isSilent) {
    const { body, icon, image, badge, actions, requireInteraction, data } = given;
    const title = String(given.title ?? "");
    const always = {
      silent: isSilent || given.silent === true, tag: String(given.tag ?? message ?? ""),
      // The member `peal` marks Peal's notifications, also those without a message's id.
      data: { peal: message ?? null, url: given.url ?? data?.url, data, actions: Array.isArray(actions) ? actions : [] },
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
    const action = (data.actions ?? []).find((/** @type {any} */ one) => one?.action === button);
    const url = target(action?.url ?? data.url);
    const windows = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
    const known = windows.find((client) => client.url === url.href) ?? (data.url || action?.url ? undefined : windows[0]);
    for (const client of windows) {
      client.postMessage({ peal: "opened", message: data.peal ?? undefined, button: button || undefined, data: data.data });
    }
    if (known) {
      await known.focus();
    } else if (["http:", "https:"].includes(url.protocol)) {
      await worker.clients.openWindow(url.href);
    }
  }

  worker.addEventListener("push", (event) => event.waitUntil(show(payload(event.data))));

  /**
   * Whether Peal showed this notification: a worker that imports this file may show others.
   * @param {Notification} notification
   */
  const isPeals = ({ data }) => typeof data === "object" && data !== null && "peal" in data;

  worker.addEventListener("notificationclick", (event) => {
    if (!isPeals(event.notification)) return;
    const { data } = event.notification;
    event.notification.close();
    const message = data.peal;
    const receipt = message ? report([{ message, type: "opened", button: event.action || undefined }]) : undefined;
    // A browser opens a window only soon after the click, so the receipt must not delay it or keep it from opening.
    event.waitUntil(Promise.allSettled([open(data, event.action), receipt]));
  });

  worker.addEventListener("notificationclose", (event) => {
    if (!isPeals(event.notification)) return;
    const message = event.notification.data.peal;
    if (message) event.waitUntil(report([{ message, type: "dismissed" }]));
  });

  // The browser replaced or ended the subscription. No push will start the worker until the server has the new one, so
  // what cannot be done now is noted and tried again whenever the worker runs.
  worker.addEventListener(
    "pushsubscriptionchange", (/** @type {any} */ event) => event.waitUntil(markStale().then(flush)));

  worker.addEventListener("sync", (/** @type {any} */ event) => {
    if (event.tag !== "peal") return;
    // After a failure the browser waits before it tries again. Another request here would start the worker at once.
    event.waitUntil(attempt().then((isDone) => isDone || Promise.reject(new Failure(0))));
  });

  const markStale = () =>
    change("device", (/** @type {Device | undefined} */ known) => known && { ...known, isStale: true });

  const currentSubscription = () => worker.registration.pushManager.getSubscription().catch(() => null);

  /**
   * The key that a subscription was created with, base64url.
   * @param {PushSubscription} subscription
   * @returns {string | undefined}
   */
  function ownKey({ options }) {
    if (!options?.applicationServerKey) return undefined;
    const text = btoa(String.fromCharCode(...new Uint8Array(options.applicationServerKey)));
    return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  /**
   * Whether the server does not have the browser's current address: not every browser says that it replaced the
   * subscription. One under another key may belong to others.
   * @param {Device | undefined} known
   */
  async function isOutdated(known) {
    if (!known || known.isStale) return !!known;
    const { endpoint, application_server_key } = known.registration.address;
    const subscription = await currentSubscription();
    return !!subscription && subscription.endpoint !== endpoint && ownKey(subscription) === application_server_key;
  }

  /** @returns {Promise<boolean>} Whether the server has the browser's current address. */
  async function renewed() {
    if (!(await isOutdated(await device()))) return true;
    return inTurn(renew).then(() => true, () => false);
  }

  /** Subscribes again and gives the server the new address, unless that has been done meanwhile. */
  async function renew() {
    const known = await device();
    if (!known || !(await isOutdated(known))) return;
    const key = known.registration.address.application_server_key;
    const bytes = Uint8Array.from(
      atob(key.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const subscription =
      (await currentSubscription()) ??
      (await worker.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes }));
    const { endpoint, keys } = subscription.toJSON();
    const address = { endpoint, keys, application_server_key: ownKey(subscription) ?? key };
    await registerAgain({ ...known, registration: { ...known.registration, address } });
  }

  // Commands of the page ---------------------------------------------------------------------------------------------

  /** @type {Record<string, (value: any) => Promise<any>>} */
  const commands = {
    async register({ server, key, registration }) {
      const registered = await inTurn(() => register(server, key, registration)).catch(async (error) => {
        // If the page has replaced the subscription, no push starts the worker until the server has the new one.
        const former = (await device())?.registration.address.endpoint;
        if (former && former !== registration.address.endpoint) {
          await markStale();
          void flush();
        }
        throw error;
      });
      // The page waits for the device only.
      void flush();
      return { device: registered.device, application_server_key: registered.application_server_key };
    },
    topic: ({ topic, isSubscribed }) => inTurn(() => changeTopic(topic, isSubscribed)),
    async opened({ content, message }) {
      // The server counts code points; half of one would be refused.
      await report([{ type: "content_opened", content: [...String(content)].slice(0, 255).join(""), message }]);
    },
    disconnect: () => inTurn(unregister),
  };

  /**
   * Changes a topic on the server, then in the stored registration. It must be called in turn.
   * @param {string} topic
   * @param {boolean} isSubscribed
   */
  async function changeTopic(topic, isSubscribed) {
    const path = `topics/${encodeURIComponent(topic)}`;
    await authorized(isSubscribed ? "PUT" : "DELETE", path, undefined, (step) => step());
    await keepTopic(topic, isSubscribed);
  }

  /**
   * Stores what the server has accepted or refused.
   * @param {string} topic
   * @param {boolean} isSubscribed
   */
  const keepTopic = (topic, isSubscribed) =>
    change("device", (/** @type {Device | undefined} */ known) => {
      const others = (/** @type {string[]} */ topics = []) => topics.filter((one) => one !== topic);
      if (!known) return undefined;
      const topics = [...others(known.registration.topics), ...(isSubscribed ? [topic] : [])];
      return { ...known, registration: { ...known.registration, topics }, lacking: others(known.lacking) };
    });

  /**
   * Subscribes a device that is new on the server to the topics of the page.
   * @returns {Promise<boolean>} Whether it has them all.
   */
  async function restored() {
    for (const topic of (await device())?.lacking ?? []) {
      if (!(await inTurn(() => restore(topic)))) return false;
    }
    return true;
  }

  /** @param {string} topic */
  async function restore(topic) {
    // The page may have changed it meanwhile.
    if (!(await device())?.lacking?.includes(topic)) return true;
    try {
      await changeTopic(topic, true);
    } catch (error) {
      const status = error instanceof Failure ? error.status : 0;
      if (status < 400 || status === 401 || isBusy(status)) return false;
      await keepTopic(topic, false);
    }
    return true;
  }

  async function unregister() {
    const known = await device();
    if (!known) return;
    await call(known.server, known.device_token, "DELETE", "registration").catch((error) => {
      if (error.status !== 401) throw error;
    });
    await transaction((values, events) => {
      values.clear();
      events.clear();
    });
  }

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
            // What else can fail is the browser itself, such as its storage.
            error: {
              code: error instanceof Failure ? error.code : "unsupported", message: String(error?.message ?? error),
              status: error?.status, field: error?.field,
            },
          })));
  });

  // A worker of the site that imports this file decides itself when it replaces its former version under open pages.
  if (worker.location.pathname.split("/").pop()?.includes("peal-worker")) {
    worker.addEventListener("install", () => void worker.skipWaiting());
    worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
  }
  void attempt();
})();
