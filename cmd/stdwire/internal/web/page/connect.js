// Links to a server, #serverUrl=URL, or to a tool of it, with &tool=NAME&args=JSON. The server need
// not be known. The page sends nothing until the user agrees.
import * as api from './api.js';
import { attempt, button, code, dialog, div, hint, inRow, p, primary } from './dom.js';

// toolLink returns the address of a tool in this page. args is JSON.
export const toolLink = (id, tool, args) => `${api.address('tools', id, tool)}${args ? `?args=${encodeURIComponent(args)}` : ''}`;

let shown;

export function confirmLink(query) {
	const url = query.get('serverUrl');
	let known;
	try {
		known = new URL(url);
	} catch { /* it is no URL */ }
	const usable = ['http:', 'https:'].includes(known?.protocol);
	const outcome = div();
	shown?.remove();
	const connect = () => attempt(outcome, async () => {
		const { id } = await api.post('connect', { url });
		shown.close();
		const tool = query.get('tool');
		location.hash = tool ? toolLink(id, tool, query.get('args')) : api.address('tools', id);
	});
	shown = dialog(usable ? `Connect to ${known.host}?` : 'This link names no server', { test: 'connect' }, p(code(url)),
		usable && hint('A link names this server. Connect only if you trust the source of the link. If you are logged in to this URL, the server receives your token.'),
		inRow(button('Cancel', () => shown.close(), { autofocus: true }), usable && primary('Connect', connect)), outcome);
}
