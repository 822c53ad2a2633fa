// A message: its tree, its bytes and related messages. The user can edit it and send it again, and
// compare it with others.
import * as api from './api.js';
import { attempt, button, bytes, capital, copyIcon, div, duration, element, facts, faint, field, h3, head, hint, input, inRow, long, muted, onEnter, p, parts, primary, problem, replace, tag } from './dom.js';
import { picture, shape } from './icons.js';
import { diff, format, parse, tabs, tree } from './json.js';
import { all, failed, find } from './messages.js';
import { callText, runner } from './panels.js';
import { server, state } from './store.js';

let marked; // the message with which others can be compared

export const sentBytes = base64 => long(atob(base64).replace(/[^\x20-\x7e\n]/g, c => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`));

export function exchange(all) {
	const headers = (title, header) => header && [head(title), facts(Object.entries(header).sort(([a], [b]) => a < b ? -1 : 1).map(([name, values]) => [name, values.join(', ')]))];
	return div(headers('Request', all.request), headers(`Response, ${all.proto ?? ''}`, all.response));
}

export function messagePanel(place, select) {
	let end = () => {};
	async function show(message) {
		end();
		const mine = () => {};
		end = mine;
		replace(place, muted('Loading …'));
		const pair = message.request ?? message.response;
		let whole;
		let other;
		const shown = div();
		try {
			[whole, other] = await Promise.all([api.get(`traffic/${message.n}`), pair && api.get(`traffic/${pair.n}`).catch(() => {})]); // which may be gone
		} catch (error) {
			if (end === mine) replace(place, p(error.message));
			return;
		}
		if (end !== mine) return;
		const outcome = tag('div.compared');
		replace(place, heading(message), relations(message), described(message, whole), actions(message, whole, outcome, shown), outcome, http(whole.http),
			tag('div.sides', side(message, whole), other && side(pair, other)), shown);
	}

	const side = ({ kind, size }, whole) => tag('section', tag('p.label', `${capital(kind)}, ${bytes(size)}`), body(whole));

	const heading = message => h3(`${message.from === 'client' ? 'Client → server' : 'Server → client'}: ${message.kind} ${message.method ?? ''} ${message.about ?? ''}`);

	const to = (text, other) => other && button(text, () => select(other));

	function relations(message) {
		const request = message.request ?? message;
		const leg = state.about.gateway && request.response && legOf(request);
		const within = all.filter(inner => inner === leg || inner.parent && [request, leg].includes(inner.parent)).slice(0, 200);
		return inRow(to('Its request', message.request), to('Its response', message.response),
			to('The call that it belongs to', message.parent ?? message.request?.parent),
			within.length > 0 && element('details', { open: within.length < 20 }, tag('summary', `${within.length} inside it`), waterfall(request, within)));
	}

	// legOf returns the call of a server that the call of a gateway's client became: the only one for the
	// same item in its time.
	function legOf({ t, response, lane, method, about }) {
		const found = all.filter(other => other.kind === 'request' && other.lane !== lane && other.method === method && `${other.lane}__${other.about}` === about &&
			other.t >= t && other.response?.t <= response.t);
		return found.length === 1 && found[0];
	}

	function waterfall(request, within) {
		const end = message => message.response?.t ?? message.t;
		const whole = Math.max(...[request, ...within].map(end)) - request.t || 1;
		return parts(tag('ol.waterfall'), [request, ...within], part => {
			const [from, took] = [part.t - request.t, end(part) - part.t];
			const bar = picture('0 0 100 8', '', '', shape('rect', { x: Math.min(from / whole * 100, 99), width: Math.max(took / whole * 100, 1), height: 8 }));
			bar.setAttribute('preserveAspectRatio', 'none');
			return element('li', { class: failed(part) && 'bad' }, to(`${part.from === 'client' ? '→' : '←'} ${part === request ? 'the call' : part.method ?? part.kind} ${part.lane === request.lane ? '' : `at ${part.lane}`}`, part), bar,
				faint(took > 0 ? duration(took) : `at ${duration(from)}`));
		});
	}

	function described(message, whole) {
		const framing = server(message.lane)?.url ? 'one message of HTTP' : whole.by_length ? 'Content-Length' : whole.framing || 'a line';
		return facts([['number', message.n], ['at', new Date(message.t).toISOString()], ['lane', `${message.lane}, connection ${message.conn}`],
			['id', message.id], ['size', `${message.size.toLocaleString()} bytes`], ['framing', framing], ['latency', message.kind === 'response' && duration(message.ms)],
			['failed', message.failed], ['sha256', whole.sha256], ['incomplete', whole.partial && 'the stream ended within it']]);
	}

	const http = all => all && tag('details.http', tag('summary', `HTTP: ${all.method}, ${all.status ?? all.error}, header after ${duration(all.ms)}`), exchange(all));

	function actions(message, whole, outcome, shown) {
		const compare = other => attempt(outcome, async () => {
			const lines = await api.post('diff', { old: other.n, new: message.n });
			replace(outcome, head(`Compared with number ${other.n}`), diff(lines));
		});
		const before = all.findLast(earlier => earlier.n < message.n && earlier.kind === message.kind && earlier.method === message.method && earlier.from === message.from &&
			(earlier.about ?? earlier.request?.about) === (message.about ?? message.request?.about));
		const live = message.kind === 'request' && message.from === 'client' && server(message.lane) && !server(message.lane).watched;
		return tag('div.row',
			live && button('Edit and send again', () => edit(message, whole, shown)),
			button('Mark', () => { marked = message; show(message); }, { title: 'Compare other messages with this one' }),
			marked && marked !== message && button(`Compare with ${marked.n}`, () => compare(marked)),
			before && button('Compare with the one before', () => compare(before)), copyIcon(whole.text));
	}

	function edit(message, whole, shown) {
		const { method, params } = parse(whole.text);
		const { _meta, ...rest } = params ?? {};
		const name = input('text', { value: method });
		const text = element('textarea.json', { rows: '10', value: format(rest) });
		const outcome = div();
		const send = () => calls.run(callText(message.lane, name.value, text.value || '{}'));
		replace(shown, head('Send again'), hint('The client sets the id and _meta.'), field('Method', name), field('Params, as JSON', text),
			primary('Send', send), outcome);
		const calls = runner(outcome);
		end = () => calls.close();
		onEnter(text, send);
		text.focus();
	}

	function body(whole) {
		const content = div();
		let value;
		try {
			value = whole.text.length < 64 << 20 ? parse(whole.text) : undefined;
		} catch { /* it is shown as it was sent */ }
		const sent = () => whole.bytes ? sentBytes(whole.bytes)
			: long(`${whole.by_length ? `Content-Length: ${whole.size}\r\n\r\n` : ''}${whole.text}`);
		const kinds = [...value !== undefined ? [['tree', 'Tree'], ['text', 'Indented']] : [], ['sent', 'As it was sent']];
		const pick = kind => replace(content, kind === 'tree' ? tree(value) : kind === 'text' ? long(format(value)) : sent());
		pick(kinds[0][0]);
		const failed = whole.problem && problem(whole.problem);
		return div(failed, tabs(kinds, kinds[0][0], pick, 'How to show the message'), content);
	}

	return { show, number: n => find(n), close: () => end() };
}
