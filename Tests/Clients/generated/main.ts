// Creates an app, registers a device and sends a message, with nothing but the client that typescript-fetch generated.
import { Configuration, NativeApi, NativeEnvironment, NativeMessageState, NativePlatform } from "./index.js";

declare const process: { env: Record<string, string>; exitCode: number };
const { PEAL_URL, PEAL_TOKEN, BUNDLE_ID, KEY_ID, TEAM_ID, PRIVATE_KEY } = process.env;

async function main(): Promise<void> {
    const api = new NativeApi(new Configuration({ basePath: PEAL_URL, accessToken: PEAL_TOKEN }));
    const app = await api.createApp({ nativeAppDraft: { name: "TypeScript", bundleId: BUNDLE_ID } });
    const credential = await api.putAPNsCredential({
        app: app.id, environment: NativeEnvironment.Production,
        nativeAPNsCredential: {
            kind: "token", keyId: KEY_ID, teamId: TEAM_ID, privateKey: PRIVATE_KEY, bundleId: BUNDLE_ID,
        },
    });
    const device = await api.createDevice({
        app: app.id,
        nativeDeviceWithID: { platform: NativePlatform.Ios, address: "cd".repeat(32), userId: "ann", topics: ["news"] },
    });
    const accepted = await api.sendMessage({
        app: app.id, idempotencyKey: "typescript-1",
        nativeMessageDraft: {
            audience: { users: ["ann"] }, content: { title: "Hello", body: { en: "From TypeScript" }, defaultLocale: "en" },
            options: { ttlSeconds: 600 },
        },
    });
    for (let attempt = 0; attempt < 600; attempt += 1) {
        const message = await api.getMessage({ app: app.id, id: accepted.id });
        if (message.state === NativeMessageState.Sent) {
            console.log(JSON.stringify({
                kind: credential.kind, device: device.id, user: device.userId, topics: device.topics,
                accepted: message.counts.accepted,
            }));
            return;
        }
        await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error("the message was not sent in time");
}

main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
});
