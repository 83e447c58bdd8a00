// Shows what is pushed to a browser that the console registered.

self.addEventListener("push", (event) => {
  let content = {};
  try {
    content = event.data?.json() ?? {};
  } catch {
    content = { body: event.data.text() };
  }
  const { title = "", body = "", image } = content;
  event.waitUntil(self.registration.showNotification(title || "Peal", { body, image, tag: content.peal?.message }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow("/console/"));
});
