// Links to a server that this page may not know: #serverUrl=URL, and &tool=NAME&args=JSON for a tool of
// it. A link is data: nothing is sent anywhere until the user has agreed.
import * as api from './api.js';
import { append, attempt, button, element } from './dom.js';

// toolLink returns the address in this page of a tool with arguments, which are JSON.
export const toolLink = (id, tool, args) => `#/tools/${api.segments(id, tool)}${args ? `?args=${encodeURIComponent(args)}` : ''}`;

let dialog;

// confirmLink asks whether to connect to the URL of a link.
export function confirmLink(query) {
  const url = query.get('serverUrl');
  let known;
  try {
    known = new URL(url);
  } catch { /* it is no URL */ }
  const usable = ['http:', 'https:'].includes(known?.protocol);
  const outcome = element('div');
  dialog?.remove();
  dialog = element('dialog', { class: 'wide', 'aria-label': 'Connect to a server', 'data-testid': 'connect', onclose: event => event.target.remove() });
  const connect = () => attempt(outcome, async () => {
    const { id } = await api.post('connect', { url });
    dialog.close();
    const tool = query.get('tool');
    location.hash = tool ? toolLink(id, tool, query.get('args')) : `#/tools/${api.segments(id)}`;
  });
  append(dialog, [element('h2', {}, usable ? `Connect to ${known.host}?` : 'This link names no server'), element('p', {}, element('code', {}, url)),
    usable && element('p', { class: 'hint' }, 'A link has named this server. Connect only if you trust where the link is from. What you have logged in to at this very URL is used.'),
    element('div', { class: 'row' }, button('Cancel', () => dialog.close(), { autofocus: true }), usable && button('Connect', connect, { class: 'primary' })), outcome]);
  document.body.append(dialog);
  dialog.showModal();
}
