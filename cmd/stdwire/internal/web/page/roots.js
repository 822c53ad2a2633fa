// The roots of servers: a note says what a server is told, and the user can change it.
import * as api from './api.js';
import { attempt, button, code, dialog, div, element, field, inRow, muted, p, primary } from './dom.js';
import { on, server, state } from './store.js';
import { toast } from './toast.js';

const said = new Set(); // ids of servers

export const parseRoots = text => ({ roots: (text.match(/\S.*\S/g) ?? []).map(uri => ({ uri })) });

export function changeRoots(id) {
	const outcome = div();
	const lines = element('textarea', { rows: '4', class: 'json', placeholder: 'file:///home/me/project', value: (server(id)?.roots ?? []).join('\n') });
	const set = result => attempt(outcome, async () => {
		said.add(id);
		await api.post(api.of(id, 'roots'), { result });
		shown.close();
		toast(result ? 'Requests of the server for roots are answered with these.' : 'You are asked when the server requests roots.');
	});
	const shown = dialog(`Roots of ${id}`, {},
		muted('The directories that the server is told to work in.'), field(`Roots of ${id}: file: URIs, one a line`, lines), outcome,
		inRow(primary('Set', () => set(parseRoots(lines.value))),
			button('Ask each time', () => set(null)), button('Cancel', () => shown.close())));
}

export function watchRoots() {
	let note;
	const update = () => {
		for (const { id, roots } of state.servers) {
			if (!roots || said.has(id)) continue;
			said.add(id);
			const line = p(`Roots of ${id}: `, code(roots.map(uri => uri.replace(/^file:\/\//, '')).join(' ') || 'none'), ' ', button('Change', () => changeRoots(id), { class: 'quiet' }));
			if (note?.isConnected) note.firstChild.append(line);
			else note = toast(line);
		}
	};
	on('servers', update);
	update();
}
