// The timeline: a chart of all requests, the list of messages, and the selected message.
import * as api from './api.js';
import { chart } from './chart.js';
import { attempt, button, div, download, element, empty, h3, input, inRow, replace, select, status, tag } from './dom.js';
import { diff } from './json.js';
import { messagePanel } from './message.js';
import { all, connections, find, laneList, listen, parseFilter, start, texts } from './messages.js';
import { rows } from './rows.js';

export function timeline(root) {
	let selected;
	let shown = [];
	let selects = () => true;
	let at = 0; // messages that were filtered
	const found = new Map(); // text → numbers
	const filter = input('search', { placeholder: 'Filter: method:tools error >100ms text:x ( / )', label: 'Filter', oninput: () => change() });
	const word = (text, on) => {
		const words = filter.value.split(/\s+/).filter(part => part && part !== text && !(text.includes(':') && part.startsWith(text.split(':')[0] + ':')));
		if (on) words.push(text);
		filter.value = words.join(' ');
		change();
	};
	const lanes = tag('span');
	const errors = input('checkbox', { onchange: () => word('error', errors.checked) });
	const count = status('span.muted');
	const outcome = div();
	const side = element('section.message-panel', { label: 'Message', hidden: true });
	const choose = message => { location.hash = address(message); };
	const address = message => `#/timeline${message ? `/${message.n}` : ''}${filter.value ? `?filter=${encodeURIComponent(filter.value)}` : ''}`;
	const picture = chart({ select: choose, selects: () => selects, selected: () => selected });
	const list = rows({ select: choose });
	const panel = messagePanel(side, choose);

	const tools = inRow(filter, lanes,
		select([['', 'both directions'], ['client', 'from the client'], ['server', 'from the server']], '', value => word(`from:${value || 'x'}`, value !== ''), { label: 'Direction' }),
		tag('label', errors, ' errors'), count,
		button('−', () => picture.zoom(1.5), { label: 'Zoom out' }), button('+', () => picture.zoom(1 / 1.5), { label: 'Zoom in' }),
		button('All', () => picture.fit(), { label: 'Show all' }), button('Follow', () => list.follow()), files(outcome));
	const none = empty('No messages yet', 'The messages of servers are shown here.', 'Servers');
	const content = tag('div.messages', list.node, side);
	replace(root, tag('div.timeline', tag('h2.hide', 'Timeline'), tools, outcome, none, picture.node, content));

	let lanesShown = '';
	function update(pruned) {
		if (pruned) {
			at = 0;
			shown = [];
		}
		for (; at < all.length; at++) if (selects(all[at])) shown.push(all[at]);
		none.hidden = all.length > 0;
		picture.node.hidden = content.hidden = all.length === 0;
		list.set(shown, all[0]?.t ?? 0);
		picture.redraw();
		count.textContent = `${shown.length.toLocaleString()} of ${all.length.toLocaleString()} messages${
			laneList().some(lane => lane.lost) ? `, ${laneList().reduce((sum, lane) => sum + lane.lost, 0).toLocaleString()} older ones are not kept` : ''}`;
		const names = laneList().map(lane => lane.name);
		if (JSON.stringify(names) !== lanesShown) {
			lanesShown = JSON.stringify(names);
			replace(lanes, names.length > 1 && select([['', 'all servers'], ...names], '', value => word(`server:${value || 'x'}`, value !== ''), { label: 'Server' }));
		}
		if (wanted && find(wanted)) open(find(wanted));
	}

	// change applies the filter again, and searches for its texts.
	async function change() {
		history.replaceState(null, '', address(selected));
		errors.checked = /(^|\s)errors?(\s|$)/.test(filter.value);
		const text = filter.value;
		for (const word of texts(text)) {
			if (!found.has(word)) found.set(word, new Set(await api.get(`search?text=${encodeURIComponent(word)}`).catch(() => [])));
			if (text !== filter.value) return;
		}
		selects = parseFilter(text, found);
		update(true);
	}

	let wanted = 0; // the number of a message that has not arrived yet
	function open(message) {
		wanted = 0;
		selected = message;
		side.hidden = !message;
		list.choose(message);
		if (message) {
			picture.show(message);
			panel.show(message).then(() => side.scrollIntoView({ block: 'nearest' }));
		}
		picture.redraw();
	}

	let searching = 0; // a timer: new messages may have the texts of the filter
	start();
	const end = listen(pruned => {
		update(pruned);
		if (texts(filter.value).length > 0 && !searching) {
			searching = setTimeout(() => {
				searching = 0;
				found.clear();
				change();
			}, 1000);
		}
	});
	update(true);
	return {
		show(next) {
			const given = next.query.get('filter') ?? '';
			if (given !== filter.value) {
				filter.value = given;
				change();
			}
			const number = Number(next.parts[0] ?? 0);
			if (number === (selected?.n ?? 0)) return;
			if (number && !find(number)) wanted = number;
			else open(find(number));
		},
		key(event) {
			const actions = { '+': () => picture.zoom(1 / 1.5), '-': () => picture.zoom(1.5), '0': () => picture.fit(), f: () => list.follow(),
				ArrowLeft: () => picture.pan(-0.1), ArrowRight: () => picture.pan(0.1), Escape: () => { location.hash = address(); },
				j: () => list.node.focus(), k: () => list.node.focus() };
			if (!actions[event.key]) return false;
			actions[event.key]();
			return true;
		},
		close() {
			end();
			clearTimeout(searching);
			list.close();
			panel.close();
			picture.close();
		},
	};
}

function files(outcome) {
	const box = tag('div.menu');
	const node = tag('details.files', tag('summary', 'Files'), box);
	const fill = () => {
		const options = connections().map(([number, lane]) => [String(number), `${lane}, connection ${number}`]);
		let chosen = options.at(-1)?.[0];
		let other = options.at(-2)?.[0];
		const save = format => attempt(outcome, async () => {
			const file = await api.blob(`export?format=${format}&conn=${chosen}`);
			download(file.name, file.blob);
		});
		const file = input('file', { accept: '.jsonl', label: 'Open a recording', onchange: () => attempt(outcome, async () => {
			if (file.files[0]) await api.post(`recordings?name=${encodeURIComponent(file.files[0].name)}`, file.files[0]);
		}) });
		replace(box, options.length > 0 && [inRow(select(options, chosen, value => { chosen = value; }, { label: 'Connection' }),
			button('Save as recording', () => save('jsonl')), button('HAR', () => save('har')), button('HTML', () => save('html')), button('OTLP', () => save('otlp.json'))),
		options.length > 1 && inRow('compare with ', select(options, other, value => { other = value; }, { label: 'Compare with' }),
			button('Compare', () => compare(outcome, Number(other), Number(chosen))))],
		inRow('Open a recording: ', file), button('Remove all messages', () => api.post('traffic/clear')));
	};
	node.addEventListener('toggle', () => { if (node.open) fill(); });
	return node;
}

async function compare(place, before, after) {
	const pairs = await attempt(place, () => api.post('diff/connections', { old: before, new: after }));
	if (!pairs) return;
	const different = pairs.filter(pair => pair.diff?.length || !pair.old || !pair.new);
	replace(place, tag('div.compared', h3(`Connection ${before} and ${after}: ${different.length} of ${pairs.length} requests differ`),
		button('Close', () => replace(place)), different.slice(0, 200).map(pair => element('details', { open: different.length < 5 },
			tag('summary', `${pair.method} ${pair.about ?? ''}`, pair.old ? '' : ' only in the second', pair.new ? '' : ' only in the first'), pair.diff?.length ? diff(pair.diff) : ''))));
}
