// The gateway that the page looks at: who calls what, how fast, and what is withheld. The figures are
// of the calls that the page has seen.
import { bytes, div, duration, element, empty, grid, h2, h3, muted, replace, strong, tag } from './dom.js';
import { all, failed, listen, start } from './messages.js';
import { on, state, throttle } from './store.js';

const methods = ['tools/call', 'resources/read', 'prompts/get'];

// figures returns how many calls there are, and what they took.
function figures(calls) {
	const times = calls.map(call => call.response?.ms).filter(ms => ms !== undefined).sort((a, b) => a - b);
	const at = part => times.length > 0 ? duration(times[Math.ceil(times.length * part) - 1]) : '–';
	return [String(calls.length), calls.length > 0 ? `${(calls.filter(failed).length / calls.length * 100).toFixed(1)} %` : '–', at(0.5), at(0.95)];
}

const table = (names, rows) => grid(names[0], names, tag('tbody', rows.map(row => tag('tr',
	row.map((cell, i) => i === 0 ? element('th', { scope: 'row' }, cell) : tag('td', cell))))));

export function gateway(root) {
	const place = element('div.stack', { 'data-testid': 'gateway' });
	replace(root, h2('Gateway'), muted(state.about.title), place);
	const card = (title, ...content) => tag('section.card', h3(title), content);
	let shown;
	const update = () => {
		const servers = state.servers.filter(server => server.watched);
		const calls = Map.groupBy(all.filter(one => one.kind === 'request' && one.from === 'client' && methods.includes(one.method)), one => one.lane);
		const clients = [...calls.keys()].filter(lane => !state.servers.some(({ id }) => id === lane));
		const of = (lane, id) => calls.get(lane).filter(call => call.about?.startsWith(`${id}__`)).length;
		const every = clients.flatMap(lane => calls.get(lane));
		const names = ['Calls', 'Errors', 'p50', 'p95'];
		const rows = servers.map(({ id, state: now, memory, tools, problem }) => [id, problem?.message ?? now, ...figures(calls.get(id) ?? []), tools === undefined ? '' : String(tools), memory ? bytes(memory) : '']);
		const held = servers.flatMap(({ id, withheld }) => (withheld ?? []).map(item => [item.name, id, item.why, item.remedy]));
		const lanes = clients.map(lane => [lane, ...figures(calls.get(lane)), ...servers.map(({ id }) => String(of(lane, id) || '')), String(calls.get(lane).filter(({ method }) => method === methods[1]).length || '')]);
		const text = JSON.stringify([rows, held, lanes]);
		if (text === shown) return;
		shown = text;
		replace(place, tag('dl.card.stats', figures(every).map((value, i) => div(tag('dt', names[i]), tag('dd', strong(value))))),
			card('Who calls what', lanes.length > 0 ? table(['Client', ...names, ...servers.map(({ id }) => `→ ${id}`), 'Resources'], lanes)
				: empty('No calls yet', 'The page sees the calls of clients since it was opened.', 'Timeline')),
			card('Servers', table(['Server', 'State', ...names, 'Tools', 'Memory'], rows)),
			held.length > 0 && card('Withheld', table(['What', 'Server', 'Why', 'What to do'], held)));
	};
	const { soon, stop } = throttle(update);
	const ends = [listen(soon), on('servers', soon), stop];
	start();
	soon();
	return { show() {}, close() { for (const end of ends) end(); } };
}
