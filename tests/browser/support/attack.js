/** The attempts of a page that is not the hub's. */

/**
 * Runs in a page of another port: tries every way to reach the hub, and returns the ways that gave it any data.
 *
 * @param {{hub: string, id: number, token: string, script: string, style: string}} about with the paths of two assets
 */
export async function attack({ hub, id, token, script, style }) {
  /** @type {string[]} */
  const got = [];
  const text = JSON.stringify({ msg: "from elsewhere" });
  const reads = [
    "/",
    "/notifications",
    "/sessions",
    "/events",
    "/hub",
    "/metrics",
    "/openapi.yaml",
    "/hello?nonce=00112233445566778899aabbccddeeff",
    "/healthz",
    script,
  ];
  const known = { authorization: `Bearer ${token}` };
  /** @type {[string, string, RequestInit][]} */
  const requests = [
    ...reads.map(
      (path) =>
        /** @type {[string, string, RequestInit]} */ ([
          "read",
          path,
          { credentials: "include" },
        ]),
    ),
    // Even with the token, because a page that has somehow obtained it is still another origin's page.
    ...reads.map(
      (path) =>
        /** @type {[string, string, RequestInit]} */ ([
          "read with the token",
          path,
          { headers: known },
        ]),
    ),
    ["text", "/notify", { method: "POST", body: "from elsewhere" }],
    [
      "json",
      "/notify",
      {
        method: "POST",
        body: text,
        headers: { "content-type": "application/json" },
      },
    ],
    [
      "json with the token",
      "/notify",
      {
        method: "POST",
        body: text,
        headers: { ...known, "content-type": "application/json" },
      },
    ],
    [
      "form",
      "/notify",
      { method: "POST", body: new URLSearchParams({ msg: "from elsewhere" }) },
    ],
    ["multipart", "/notify", { method: "POST", body: new FormData() }],
    ["seen", `/notifications/${id}/seen`, { method: "PUT", headers: known }],
    ["withdraw", `/notifications/${id}`, { method: "DELETE", headers: known }],
    ["login", "/login", { method: "POST", body: '{"code":"x"}' }],
    ["code", "/login/code", { method: "POST", body: "{}", headers: known }],
    [
      "hook",
      "/hooks/claude",
      { method: "POST", body: '{"hook_event_name":"Stop","session_id":"x"}' },
    ],
  ];
  for (const [name, path, init] of requests) {
    await fetch(hub + path, init).then(
      (response) => {
        got.push(`${name} ${path}: ${response.status}`);
        response.body?.cancel();
      },
      () => {},
    );
    // A request whose response the page cannot read must have no effect either.
    const { headers: _, ...plain } = init;
    await fetch(hub + path, {
      ...plain,
      mode: "no-cors",
      ...(init.method === "PUT" || init.method === "DELETE"
        ? { method: "POST" }
        : {}),
    }).catch(() => {});
  }
  navigator.sendBeacon(`${hub}/notify`, "from elsewhere");
  const request = new XMLHttpRequest();
  const sent = new Promise((resolve) => (request.onloadend = resolve));
  request.open("POST", `${hub}/notify`);
  request.withCredentials = true;
  request.send("from elsewhere");
  await sent;
  if (request.status) got.push(`XMLHttpRequest: ${request.status}`);
  for (const path of ["/events", "/events?since=0"]) {
    const source = new EventSource(hub + path, { withCredentials: true });
    await new Promise((resolve) => {
      source.onerror = resolve;
      source.onopen = () => resolve(got.push(`EventSource ${path}`));
    });
    source.close();
  }
  for (const path of ["/", "/events", "/notify"]) {
    const socket = new WebSocket(hub.replace("http", "ws") + path);
    await new Promise((resolve) => {
      socket.onerror = resolve;
      socket.onopen = () => resolve(got.push(`WebSocket ${path}`));
    });
  }
  /** @param {string} tag @param {string} property @param {string} path */
  const load = async (tag, property, path) => {
    const element = document.createElement(tag);
    if (tag === "link") element.setAttribute("rel", "stylesheet");
    const done = new Promise((resolve) => {
      element.onerror = resolve;
      element.onload = () => resolve(got.push(`<${tag}> ${path}`));
    });
    element.setAttribute(property, hub + path);
    document.body.append(element);
    await done;
  };
  await load("img", "src", "/assets/icon.svg");
  await load("img", "src", "/");
  await load("script", "src", "/notifications");
  await load("link", "href", style);
  await load("video", "src", "/events");
  await import(hub + style, { with: { type: "css" } }).then(
    () => got.push("import"),
    () => {},
  );
  for (const path of [
    "/",
    "/assets/index.html",
    "/notifications",
    "/healthz",
  ]) {
    const frame = document.createElement("iframe");
    const loaded = new Promise((resolve) => (frame.onload = resolve));
    frame.src = hub + path;
    document.body.append(frame);
    await loaded;
    try {
      if (frame.contentDocument?.body?.innerText) got.push(`iframe ${path}`);
    } catch {
      // The browser shows its own error page in the frame.
    }
  }
  // These are frames too, and may show the browser's own error page: the test checks their content.
  document.body.append(
    Object.assign(document.createElement("object"), { data: `${hub}/` }),
    Object.assign(document.createElement("embed"), { src: `${hub}/` }),
  );
  for (const enctype of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
  ]) {
    for (const path of ["/notify?from=elsewhere", "/login", "/seen"]) {
      const frame = document.createElement("iframe");
      frame.name = `${enctype} ${path}`;
      document.body.append(frame);
      const form = document.createElement("form");
      Object.assign(form, {
        method: "POST",
        action: hub + path,
        enctype,
        target: frame.name,
      });
      const input = document.createElement("input");
      Object.assign(input, {
        name: '{"msg":"from elsewhere","x":"',
        value: '"}',
      });
      form.append(input);
      document.body.append(form);
      const loaded = new Promise((resolve) => (frame.onload = resolve));
      form.submit();
      await loaded;
    }
  }
  if (Object.keys(sessionStorage).length) got.push("sessionStorage");
  // Last, because the script replaces the content of the page.
  await load("script", "src", script);
  return got;
}

/**
 * Runs in a page of a program that has taken the hub's port, which has the origin of the dashboard: tries to read the
 * key that the browser keeps, and uses it to answer a challenge of the hub for these addresses.
 *
 * @param {{challenge: string, addresses: string[]}} about
 */
export async function useKey({ challenge, addresses }) {
  const opening = indexedDB.open("hub");
  await new Promise((resolve) => (opening.onsuccess = resolve));
  const asking = opening.result
    .transaction("devices")
    .objectStore("devices")
    .get("own");
  await new Promise((resolve) => (asking.onsuccess = resolve));
  opening.result.close();
  const { key } = asking.result;
  /** @type {unknown[]} */
  const exported = [];
  for (const format of /** @type {const} */ (["raw", "jwk"])) {
    await crypto.subtle.exportKey(format, key).then(
      (it) => exported.push(it),
      () => {},
    );
  }
  /** @type {string[]} */
  const proofs = [];
  for (const address of addresses) {
    /** @param {CryptoKey} by @param {string} text */
    const mac = async (by, text) =>
      new Uint8Array(
        await crypto.subtle.sign("HMAC", by, new TextEncoder().encode(text)),
      );
    const own = await mac(key, `browser\0${address}`);
    const hash = await crypto.subtle.digest("SHA-256", own);
    const by = await crypto.subtle.importKey(
      "raw",
      hash,
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["sign"],
    );
    const cover = await mac(by, `${challenge}\0${address}`);
    proofs.push(
      Array.from(own, (byte, at) =>
        (byte ^ cover[at]).toString(16).padStart(2, "0"),
      ).join(""),
    );
  }
  return { proofs, exported, stored: JSON.stringify(asking.result) };
}
