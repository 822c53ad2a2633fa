// Apps: the pages that servers offer beside the results of their tools. An app runs in a frame of
// another origin. It says nothing to this page but messages, which stdwire judges.
import * as api from './api.js';
import { append, attempt, bytes, button, element, newID, problem, replace, theme } from './dom.js';
import { content } from './result.js';
import { tree } from './json.js';
import { on } from './store.js';

// hasApp reports whether a tool has an app.
export const hasApp = tool => typeof (tool._meta?.ui?.resourceUri ?? tool._meta?.['ui/resourceUri']) === 'string';

const most = 500; // messages at once
const rate = 100; // further ones, a second
const longest = 8 << 20; // characters of a message, and of those that wait
const tallest = 2000; // pixels
const kept = 200; // entries of the log

// budget counts what arrives, and reports false for more than an app may say.
function budget() {
  let left = most;
  let at = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(most, left + (now - at) / 1000 * rate) - 1;
    at = now;
    return left > 0;
  };
}

// appPanel shows the app of a tool for calls, beside their results.
export function appPanel(place, server, tool) {
  const box = element('section', { class: 'app-box', 'aria-label': 'App' });
  append(place, box);
  let shown; // the app that is shown, { close() }
  let latest = 0; // the call that it is for

  async function show(call) {
    if (call === latest) return;
    latest = call;
    shown?.close();
    shown = undefined;
    replace(box);
    const about = await attempt(box, () => api.post('apps/read', { server: server.id, tool: tool.name }));
    if (!about || latest !== call) return;
    const wanted = Object.keys(about.permissions ?? {});
    const open = async permissions => {
      const started = await attempt(box, () => api.post('apps', { server: server.id, tool: tool.name, call, digest: about.digest, permissions,
        theme: theme(), locale: navigator.language, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        width: Math.floor(box.clientWidth) }));
      if (!started) return;
      if (latest === call) shown = frame(box, tool, about, started, permissions);
      else api.post(`apps/${started.id}/close`).catch(() => {});
    };
    if (!about.origins && wanted.length === 0) {
      open({});
      return;
    }
    const boxes = new Map(wanted.map(name => [name, element('input', { type: 'checkbox', id: newID() })]));
    replace(box, element('div', { class: 'card' }, element('h4', {}, 'This tool has an app'),
      about.origins && element('p', {}, 'It wants to reach ', element('strong', {}, about.origins.join(', ')), '.'),
      about.invalid && element('p', { class: 'hint' }, `It also asks for ${about.invalid.join(', ')}, which is no origin.`),
      wanted.length > 0 && element('p', {}, 'It wants to use:'),
      [...boxes].map(([name, input]) => element('p', {}, input, ' ', element('label', { for: input.id }, name))),
      button('Show the app', () => open(Object.fromEntries([...boxes].filter(([, input]) => input.checked).map(([name]) => [name, {}]))))));
  }

  return { show, close() {
    latest = 0;
    shown?.close();
  } };
}

// frame shows an app that stdwire has opened.
function frame(box, tool, about, started, permissions) {
  const path = `apps/${api.segments(started.id)}`;
  const notice = element('div', { role: 'status' });
  const log = element('ol', { class: 'app-log', tabindex: '0', 'aria-label': 'What the app says' });
  const told = element('div');
  const view = element('iframe', { class: about.border === false ? 'app' : 'app app-border', title: `App of ${tool.title ?? tool.name}`,
    allow: started.allow, sandbox: 'allow-scripts allow-same-origin allow-forms',
    src: `${started.address}#${encodeURIComponent(location.origin)}` });
  const full = button('Full screen', () => attempt(notice, async () => {
    const mode = node.classList.contains('app-full') ? 'inline' : 'fullscreen';
    await api.post(`${path}/context`, { displayMode: mode });
    display(mode);
  }), { 'aria-pressed': 'false' });
  const node = element('div', { class: 'app-node' },
    element('div', { class: 'row' }, element('h4', {}, 'App'), full, button('Close the app', () => close()),
      element('a', { href: `#/timeline?filter=${encodeURIComponent(`server:${started.lane}`)}` }, 'Its messages'),
      element('span', { class: 'muted' }, `${about.uri}, ${bytes(about.size)}`)),
    notice, view, told, log);
  replace(box, node);

  function display(mode) {
    const isFull = mode === 'fullscreen';
    node.classList.toggle('app-full', isFull);
    full.setAttribute('aria-pressed', isFull);
  }

  let ended = false;
  const stream = new AbortController(); // without its reader, stdwire ends the app
  const queue = [];
  let waiting = 0; // characters in queue
  let sending = false;
  // send passes on what the app says, in order.
  async function send() {
    if (sending) return;
    sending = true;
    try {
      while (queue.length > 0 && !ended) {
        const all = queue.splice(0, 100);
        waiting -= all.reduce((sum, text) => sum + text.length, 0);
        await api.post(`${path}/messages`, `[${all.join(',')}]`);
      }
    } catch (error) {
      end(error.message);
    }
    sending = false;
  }

  const may = budget();
  const heard = event => {
    if (ended) return;
    if (!may()) { // whoever sends them: while there is an app, it is the app
      end('it sends too many messages');
      return;
    }
    if (event.source !== view.contentWindow || event.origin !== started.origin) return;
    if (event.data?.method === 'ui/notifications/sandbox-proxy-ready') {
      view.contentWindow.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-resource-ready',
        params: { html: started.html, permissions } }, started.origin);
      return;
    }
    let text;
    try {
      text = JSON.stringify(event.data);
    } catch { /* it is no JSON */ }
    if (text === undefined || text[0] !== '{') return;
    if (text.length + waiting > longest) {
      end('its messages are too large');
      return;
    }
    queue.push(text);
    waiting += text.length;
    send();
  };
  addEventListener('message', heard);

  const say = (kind, ...parts) => {
    log.append(element('li', {}, element('strong', {}, kind), ' ', parts));
    while (log.childElementCount > kept) log.firstElementChild.remove();
  };
  const handlers = {
    message: message => view.contentWindow?.postMessage(message, started.origin),
    mode: display,
    size: ({ height }) => { if (height > 0) view.style.height = `${Math.min(height, tallest)}px`; },
    log: ({ level, logger, data }) => say(`log, ${level}`, logger && `${logger}: `, typeof data === 'string' ? data : tree(data)),
    said: ({ content: blocks }) => say('message', [blocks].flat().map(block => content(block, ''))),
    context: ({ content: blocks = [], structuredContent }) => replace(told, element('details', {}, element('summary', {}, 'What the model would know'),
      blocks.map(block => content(block, '')), structuredContent && tree(structuredContent))),
  };
  (async () => {
    try {
      for await (const event of api.events(`${path}/events`, { signal: stream.signal })) {
        for (const [kind, value] of Object.entries(event)) handlers[kind]?.(value);
      }
      end('stdwire or the server has ended it');
    } catch (error) {
      end(error.message);
    }
  })();
  const endTheme = on('theme', () => api.post(`${path}/context`, { theme: theme() }).catch(() => {}));

  // end removes the frame at once.
  function end(why) {
    if (ended) return;
    ended = true;
    removeEventListener('message', heard);
    endTheme();
    display('inline');
    view.remove();
    full.remove();
    stream.abort();
    if (why) replace(notice, problem({ message: `The app was ended: ${why}.` }));
  }

  // close lets the app save what it must, out of sight, and removes it. A frame that cannot be moved
  // without a reload is removed at once.
  async function close() {
    if (ended) return;
    display('inline');
    node.hidden = true;
    document.body.moveBefore?.(node, null);
    await api.post(`${path}/close`).catch(() => {});
    end();
    node.remove();
  }
  return { close };
}
