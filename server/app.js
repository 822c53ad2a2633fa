"use strict";
const app = (() => {
  const host = parent, waiting = new Map(), root = document.documentElement;
  const ui = "ui/notifications/";
  let id = 0;
  const post = m => host.postMessage({ jsonrpc: "2.0", ...m }, "*");
  const ask = (method, params = {}) => new Promise((resolve, reject) => {
    waiting.set(++id, { resolve, reject });
    post({ id, method, params });
  });
  const tell = (method, params = {}) => post({ method, params });
  const run = (name, value) => typeof self[name] == "function" ? self[name](value) : undefined;
  const apply = c => {
    Object.assign(self.context, c);
    if (c.theme) root.style.colorScheme = c.theme;
    for (const [k, v] of Object.entries(c.styles?.variables || {}))
      if (k.startsWith("--") && v) root.style.setProperty(k, v);
  };
  const heard = new Map([
    [ui + "tool-input-partial", p => run("onpartial", p.arguments || {})],
    [ui + "tool-input", p => run("oninput", p.arguments || {})],
    [ui + "tool-result", p => run("onresult", p)],
    [ui + "tool-cancelled", p => run("oncancel", p.reason || "")],
    [ui + "host-context-changed", p => { apply(p); run("oncontext", self.context); }],
  ]);
  const asked = new Map([["ping", () => ({})],
    ["ui/resource-teardown", async p => { await run("onteardown", p.reason); return {}; }]]);
  addEventListener("message", async e => {
    const m = e.data;
    if (e.source !== host || m?.jsonrpc !== "2.0") return;
    if (!m.method) {
      const w = waiting.get(m.id);
      waiting.delete(m.id);
      if (m.error) w?.reject(Object.assign(new Error(m.error.message), m.error));
      else w?.resolve(m.result);
    } else if (m.id == null) {
      heard.get(m.method)?.(m.params || {});
    } else if (!asked.has(m.method)) {
      post({ id: m.id, error: { code: -32601, message: "Method not found: " + m.method } });
    } else try {
      post({ id: m.id, result: await asked.get(m.method)(m.params || {}) });
    } catch (err) {
      post({ id: m.id, error: { code: -32603, message: String(err) } });
    }
  });
  const size = () => {
    const { width, height } = root.getBoundingClientRect();
    tell(ui + "size-changed", { width: Math.ceil(width), height: Math.ceil(height) });
  };
  const self = {
    context: {}, ask,
    async connect(appInfo, appCapabilities = {}) {
      const r = await ask("ui/initialize",
        { appInfo, appCapabilities, protocolVersion: "2026-01-26" });
      apply(r.hostContext || {});
      tell(ui + "initialized");
      new ResizeObserver(size).observe(root);
      return self.context;
    },
    call: (name, args = {}) => ask("tools/call", { name, arguments: args }),
    read: uri => ask("resources/read", { uri }),
    open: url => ask("ui/open-link", { url }),
    say: text => ask("ui/message", { role: "user", content: [{ type: "text", text }] }),
    tell: (structuredContent, text = "") => ask("ui/update-model-context",
      { structuredContent, content: [{ type: "text", text }] }),
    log: (level, data) => tell("notifications/message", { level, data }),
  };
  return self;
})();
