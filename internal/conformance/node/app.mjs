// The page of an app without a browser: its messages are lines of stdin and stdout.
//   node app.mjs script FILE    runs the script of authors, in FILE
//   node app.mjs sdk            runs the App of the official SDK
// It says hello, sends a log message for what it hears, and then calls the tool that the first
// result names in structuredContent.call.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin });
const send = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const info = { name: "page", version: "1" };
const size = { width: 30.2, height: 40 };

async function follow(app) {
  app.oninput = (arguments_) => app.log("info", { input: arguments_ });
  app.oncancel = (reason) => app.log("info", { cancelled: reason });
  app.oncontext = (context) => app.log("info", { theme: context.theme });
  app.onteardown = () => {};
  app.onresult = async (result) => {
    const { call, arguments: args } = result.structuredContent || {};
    if (!call) return;
    try {
      const answer = await app.call(call, args);
      app.log("info", { answer: answer.content });
      await app.say("hello");
      await app.tell({ seen: 1 }, "seen");
      await app.open("https://example.com/");
      await app.call("no such tool");
    } catch (err) {
      app.log("error", { error: err.message });
    }
  };
  app.log("info", { theme: (await app.connect(info)).theme });
}

async function script(file) {
  const listeners = [];
  const parent = { postMessage: send };
  const document = {
    documentElement: {
      style: { setProperty() {} },
      getBoundingClientRect: () => size,
    },
  };
  class ResizeObserver {
    constructor(changed) { this.changed = changed; }
    observe() { this.changed(); }
  }
  lines.on("line", (line) => {
    for (const f of listeners) f({ source: parent, data: JSON.parse(line) });
  });
  const define = new Function("parent", "document", "ResizeObserver", "addEventListener",
    readFileSync(file, "utf8") + "\nreturn app;");
  await follow(define(parent, document, ResizeObserver, (_, f) => listeners.push(f)));
}

async function sdk() {
  const { App } = await import("@modelcontextprotocol/ext-apps/app-with-deps");
  const app = new App(info, {}, { autoResize: false });
  const transport = {
    start: async () => lines.on("line", (line) => transport.onmessage(JSON.parse(line))),
    send: async (message) => send(message),
    close: async () => {},
  };
  const page = {
    log: (level, data) => app.sendLog({ level, data }),
    call: (name, args = {}) => app.callServerTool({ name, arguments: args }),
    say: (text) => app.sendMessage({ role: "user", content: [{ type: "text", text }] }),
    tell: (structuredContent, text) => app.updateModelContext(
      { structuredContent, content: [{ type: "text", text }] }),
    open: (url) => app.openLink({ url }),
    async connect() {
      app.ontoolinput = (p) => page.oninput(p.arguments);
      app.ontoolresult = (p) => page.onresult(p);
      app.ontoolcancelled = (p) => page.oncancel(p.reason);
      app.onhostcontextchanged = () => page.oncontext(app.getHostContext());
      app.onteardown = async () => { page.onteardown(); return {}; };
      await app.connect(transport);
      app.sendSizeChanged({ width: 31, height: 40 });
      return app.getHostContext();
    },
  };
  await follow(page);
}

await { script, sdk }[process.argv[2]](process.argv[3]);
