/** The types of `peal.js`, for TypeScript. */

/** The version of `peal.js`. */
export const version: "1.0.0";

/** What `connect` needs to know. */
export type ConnectOptions = {
  /** The server's address, such as `https://push.example.com`. */
  server: string | URL;
  /** The app's device key. */
  key: string;
  /**
   * The address of `peal-worker.js` on the page's own origin, of a worker of yours that imports it, or a registration
   * of such a worker.
   */
  worker: string | URL | ServiceWorkerRegistration;
  /**
   * Who uses the page. Without it, the browser has no user; if no `connect` has ever named one, it keeps the user that
   * a backend set.
   */
  user_id?: string;
  /** Your backend's signed statement that this person signed in. */
  user_proof?: string;
  /** All topics of the browser: others are removed. Without it, a known browser keeps its topics. */
  topics?: string[];
  /**
   * Facts by which a backend chooses audiences, at most 4,096 bytes of JSON. A change replaces all attributes. Without
   * it, or if the server has confirmed the same, a known browser keeps its attributes.
   */
  attributes?: Record<string, string | number | boolean>;
  /**
   * Ids of the browser in other systems, such as `devtodev_id`. A change replaces all identifiers. Without it, or if the
   * server has confirmed the same, a known browser keeps its identifiers.
   */
  identifiers?: Record<string, string>;
};

/** The registered browser. Each method throws `PealError`. */
export type Connection = {
  /** The device's id on the server. */
  device: string;
  /** Subscribes to a topic. */
  subscribe: (topic: string) => Promise<void>;
  /** Unsubscribes from a topic. */
  unsubscribe: (topic: string) => Promise<void>;
  /** Reports that the person opened content. */
  opened: (content: string, message?: string) => Promise<void>;
  /** Ends the push subscription and deletes the device on the server. */
  disconnect: () => Promise<void>;
};

/** Why something did not work. */
export class PealError extends Error {
  constructor(
    code: "unsupported" | "denied" | "unreachable" | "refused", message: string,
    details?: { status?: number; field?: string });
  /** What kind of failure it is. */
  code: "unsupported" | "denied" | "unreachable" | "refused";
  /** The server's status. */
  status: number | undefined;
  /** The field that is at fault. */
  field: string | undefined;
}

/** Whether this browser can receive pushes. */
export function isSupported(): boolean;

/**
 * Connects this browser. Call it in response to a click, because browsers ask for permission only then. It may be
 * called again at any time, such as at every visit and when the person signs in or out.
 *
 * @throws {PealError} `unsupported`, `denied` by the person, `unreachable`, or `refused` by the server.
 */
export function connect(options: ConnectOptions): Promise<Connection>;
