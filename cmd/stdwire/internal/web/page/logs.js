// Log messages of servers, filtered by level, logger and text. The stderr of a server is on its card.
import * as api from './api.js';
import { anchor, attempt, clock, div, element, empty, faint, field, h2, inRow, li, many, p, replace, select, short, status, strong, unfolded } from './dom.js';
import { tree } from './json.js';
import { levels } from './servers.js';
import { on, state, throttle } from './store.js';

const colours = { debug: 'muted', info: 'info', notice: 'info', warning: 'warn' };

export function logs(root) {
	const filter = { level: '', server: '', logger: '', text: '' };
	const outcome = div();
	const servers = div();
	const notes = status('div.muted');
	const list = element('ol.items.card', { label: 'Log messages', test: 'logs' });
	let shown; // the filter of what is shown
	const input = (name, label) => field(label, element('input', { type: 'search', oninput: event => { filter[name] = event.target.value; soon(); } }));
	const choice = (name, label, options) => field(label, select(options, filter[name], value => { filter[name] = value; soon(); }));
	replace(root, h2('Logs'), inRow(choice('level', 'Level at least', [['', 'any'], ...levels]), servers, input('logger', 'Logger'), input('text', 'Text')), outcome, notes, list);

	function line(message) {
		return li(unfolded([faint(clock(message.t), ' ', message.server, ' '),
			element('span', { class: `badge ${colours[message.level] ?? 'bad'}` }, message.level || 'no level'), ' ', message.logger && strong(message.logger, ' '),
			short(typeof message.data === 'string' ? message.data : JSON.stringify(message.data ?? null))],
		() => [tree(message.data ?? null), p(anchor(api.address('timeline', message.n), 'on the timeline'))]));
	}

	const fetch = () => attempt(outcome, async () => {
		const text = JSON.stringify(filter);
		const page = await api.get(`logs?${new URLSearchParams(filter)}`);
		if (text !== JSON.stringify(filter) || list.querySelector('details[open]') && text === shown) return;
		shown = text;
		replace(list, page.lines.map(line));
		replace(notes, page.lines.length === 0 ? empty(Object.values(filter).some(Boolean) ? 'No such messages' : 'No log messages', 'Servers send the messages of the log level that is set on their cards, and write the rest to stderr.', 'Servers') : page.more ? `The latest ${page.lines.length} messages; there are more.` : many(page.lines.length, 'message'));
	});

	let known;
	const lanes = () => {
		const ids = JSON.stringify(state.servers.map(server => server.id));
		if (ids === known) return;
		known = ids;
		replace(servers, choice('server', 'Server', [['', 'all'], ...JSON.parse(ids)]));
	};
	const { soon, stop } = throttle(fetch, 'traffic');
	lanes();
	const end = on('servers', lanes);
	return { close() {
		stop();
		end();
	} };
}
