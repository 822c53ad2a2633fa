// Links to a server, #serverUrl=URL, or to a tool of it, with &tool=NAME&args=JSON. The server need
// not be known. The page sends nothing until the user agrees.
import * as api from './api.js';
import { append, attempt, button, element, hint, inRow } from './dom.js';

// toolLink returns the address of a tool in this page. args is JSON.
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
    usable && hint('A link names this server. Connect only if you trust the source of the link. If you are logged in to this URL, the server receives your token.'),
    inRow(button('Cancel', () => dialog.close(), { autofocus: true }), usable && button('Connect', connect, { class: 'primary' })), outcome]);
  document.body.append(dialog);
  dialog.showModal();
}
