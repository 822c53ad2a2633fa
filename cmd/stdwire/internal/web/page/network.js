// HTTP requests to servers, with or without a message: status, headers without secrets, bodies.
import * as api from './api.js';
import { attempt, bytes, clock, div, duration, element, empty, faint, h2, head, keyed, li, muted, replace, status, strong, tag } from './dom.js';
import { exchange, sentBytes } from './message.js';
import { throttle } from './store.js';

export function network(root) {
	const outcome = div();
	const notes = status('div.muted');
	const list = element('ol.items.card', { label: 'HTTP requests', test: 'network' });
	const nodes = new Map(); // number → item
	replace(root, h2('HTTP'), outcome, notes, list);

	function item(request) {
		const line = tag('summary');
		const whole = div();
		const load = () => attempt(whole, async () => {
			const all = await api.get(`network/${request.n}`);
			const body = (title, text, size) => size > 0 && [head(`${title}, ${bytes(size)}`), sentBytes(text ?? ''),
				atob(text ?? '').length < size && muted('The rest is not kept.')];
			replace(whole, exchange(all), body('Body of the request', all.sent, all.sent_size), body('Body of the response', all.received, all.received_size));
		});
		const node = li(element('details', { ontoggle: event => { if (event.target.open) load(); } }, line, whole));
		return { node, update(now) {
			const failed = now.error || Number.parseInt(now.status, 10) >= 400;
			replace(line, faint(clock(now.t), ' ', now.lane, ' '), strong(now.method), ' ',
				element('span', { class: `badge ${failed ? 'bad' : 'good'}` }, now.error ?? now.status ?? 'sent'), ' ', now.url, ' ',
				faint(now.ms ? duration(now.ms) : '', ` ${bytes(now.sent_size)} → ${bytes(now.received_size)}${now.open ? ', open' : ''}`));
		} };
	}

	const fetch = () => attempt(outcome, async () => {
		const all = await api.get('network');
		keyed(nodes, all.toReversed(), request => request.n, request => {
			const made = item(request);
			list.prepend(made.node);
			return made;
		});
		replace(notes, all.length === 0 ? empty('No request was sent', 'Servers at a URL get them.', 'Servers') : `The latest ${all.length}. Values of headers that may be secret are not shown.`);
	});

	return { close: throttle(fetch, 'traffic').stop };
}
