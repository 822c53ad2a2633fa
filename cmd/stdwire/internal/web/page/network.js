// HTTP requests to servers, with or without a message: status, headers without secrets, bodies.
import * as api from './api.js';
import { attempt, bytes, div, duration, element, faint, h2, h4, li, muted, replace, status, strong, tag } from './dom.js';
import { exchange, sentBytes } from './message.js';
import { on, throttle } from './store.js';

export function network(root) {
	const outcome = div();
	const notes = status('p.muted');
	const list = element('ol.items', { label: 'HTTP requests', 'data-testid': 'network' });
	const nodes = new Map(); // number → item
	replace(root, h2('HTTP'), outcome, notes, list);

	function item(request) {
		const line = tag('summary');
		const whole = div();
		const load = () => attempt(whole, async () => {
			const all = await api.get(`network/${request.n}`);
			const body = (title, text, size) => size > 0 && [h4(`${title}, ${bytes(size)}`), sentBytes(text ?? ''),
				atob(text ?? '').length < size && muted('The rest is not kept.')];
			replace(whole, exchange(all), body('Body of the request', all.sent, all.sent_size), body('Body of the response', all.received, all.received_size));
		});
		const node = li(element('details', { ontoggle: event => { if (event.target.open) load(); } }, line, whole));
		return { node, set(now) {
			const failed = now.error || Number.parseInt(now.status, 10) >= 400;
			replace(line, faint(new Date(now.t).toLocaleTimeString(), ' ', now.lane, ' '), strong(now.method), ' ',
				element('span', { class: `badge ${failed ? 'bad' : 'good'}` }, now.error ?? now.status ?? 'sent'), ' ', now.url, ' ',
				faint(now.ms ? duration(now.ms) : '', ` ${bytes(now.sent_size)} → ${bytes(now.received_size)}${now.open ? ', open' : ''}`));
		} };
	}

	const fetch = () => attempt(outcome, async () => {
		const all = await api.get('network');
		for (const [n, { node }] of nodes) {
			if (all.length > 0 && n >= all.at(-1).n) continue;
			node.remove();
			nodes.delete(n);
		}
		for (const request of all.toReversed()) {
			if (!nodes.has(request.n)) {
				nodes.set(request.n, item(request));
				list.prepend(nodes.get(request.n).node);
			}
			nodes.get(request.n).set(request);
		}
		notes.textContent = all.length === 0 ? 'No HTTP request was sent.' : `The latest ${all.length}. Values of headers that may be secret are not shown.`;
	});

	const { soon, stop } = throttle(fetch);
	soon();
	const end = on('traffic', soon);
	return { show() {}, close() {
		stop();
		end();
	} };
}
