// The gateway that the page looks at: who calls what, how fast, what clients get and what it costs them,
// and what is withheld. The figures are of the calls that the page has seen.
import * as api from './api.js';
import { bytes, code, div, duration, element, empty, figures, h2, h3, hint, muted, replace, strong, tag, tokens } from './dom.js';
import { all, failed, listen, start } from './messages.js';
import { spark } from './spark.js';
import { definitions, on, state, throttle } from './store.js';

const methods = ['tools/call', 'resources/read', 'prompts/get'];

// measured returns how many calls there are, and what they took.
function measured(calls) {
	const times = calls.map(call => call.response?.ms).filter(ms => ms !== undefined).sort((a, b) => a - b);
	const at = part => times.length > 0 ? duration(times[Math.ceil(times.length * part) - 1]) : '–';
	return [String(calls.length), calls.length > 0 ? `${(calls.filter(failed).length / calls.length * 100).toFixed(1)} %` : '–', at(0.5), at(0.95)];
}

// adapted says what a gateway has changed for a client.
const adapted = ({ other_names: names, cut_descriptions: cut }) => [names && `${names} shorter names`, cut && `${cut} descriptions cut`].filter(Boolean).join(', ');

export function gateway(root) {
	const place = element('div.stack', { 'data-testid': 'gateway' });
	replace(root, h2('Gateway'), muted(state.about.title), place);
	const card = (title, ...content) => tag('section.card', h3(title), content);
	let about = {};
	let shown;
	const update = () => {
		const servers = state.servers.filter(server => server.watched);
		const itself = state.servers.find(server => server.gateway)?.id;
		const calls = Map.groupBy(all.filter(one => one.kind === 'request' && one.from === 'client' && methods.includes(one.method)), one => one.lane);
		const clients = [...calls.keys()].filter(lane => !state.servers.some(({ id }) => id === lane));
		const its = (lane, id) => calls.get(lane).filter(call => call.about?.startsWith(`${id}__`)).length;
		const every = clients.flatMap(lane => calls.get(lane));
		const tools = state.lists.get(itself)?.tool;
		const cost = id => tools ? tokens(tools.filter(({ definition }) => String(definition.name).startsWith(`${id}__`)).reduce((sum, tool) => sum + tool.tokens, 0)) : '';
		const names = ['Calls', 'Errors', 'p50', 'p95'];
		const rows = servers.map(({ id, state: now, memory, tools, problem }) => [id, problem?.message ?? now, ...measured(calls.get(id) ?? []), tools === undefined ? '' : String(tools), cost(id), memory ? bytes(memory) : '']);
		const held = servers.flatMap(({ id, withheld }) => (withheld ?? []).map(item => [item.name, id, item.why, item.remedy]));
		const lanes = clients.map(lane => [lane, ...measured(calls.get(lane)), ...servers.map(({ id }) => String(its(lane, id) || '')), String(calls.get(lane).filter(({ method }) => method === methods[1]).length || '')]);
		const text = JSON.stringify([rows, held, lanes, about, Math.floor(Date.now() / 60_000)]);
		if (text === shown) return;
		shown = text;
		replace(place, tag('dl.card.stats', measured(every).map((value, i) => div(tag('dt', names[i]), tag('dd', strong(value))))),
			card('Who calls what', lanes.length > 0 ? figures(['Client', ...names, ...servers.map(({ id }) => `→ ${id}`), 'Resources', 'Last hour'], lanes.map(row => [...row, spark(calls.get(row[0]))]))
				: empty('No calls yet', 'The page sees the calls of clients since it was opened.', 'Timeline')),
			card('Servers', figures(['Server', 'State', ...names, 'Tools', 'Cost', 'Memory', 'Last hour'], rows.map(row => [...row, spark(calls.get(row[0]) ?? [])]))),
			about.clients?.length > 0 && card('What clients get', figures(['Client', 'Profile', 'Discovery', 'Tools', 'It got', 'All of them', 'Adapted'], about.clients.map(one => [one.client || 'without a name', one.profile || 'all servers',
				one.search ? 'by a search' : 'as a list', String(one.tools), tokens(one.listed_bytes / 4), tokens(one.bytes / 4), adapted(one)])),
			hint('A client finds tools by a search where ', code('discover'), ' says so, or, if that is ', code('auto'), ', where the list is long. A token is about 4 bytes.')),
			held.length > 0 && card('Withheld', figures(['What', 'Server', 'Why', 'What to do'], held)),
			about.waiting?.length > 0 && card('Waits for you', figures(['What', 'Why', 'File'], about.waiting.map(one => [`${one.kind} ${one.name ?? ''}`, one.why, one.source])), hint('At the terminal: ', code('stdwire trust'), ' shows the whole change and accepts it.')),
			about.invalid?.length > 0 && card('Errors of the configuration', about.invalid.map(why => tag('p.problem', why))));
	};
	const { soon, stop } = throttle(update, 'counts');
	const look = async () => {
		const itself = state.servers.find(server => server.gateway);
		if (itself?.state === 'ready') definitions(itself.id).catch(() => {}); // its views say why
		about = await api.get('gateway').catch(() => about);
		soon();
	};
	const ends = [listen(soon), on('servers', look), stop];
	start();
	look();
	return { close() { for (const end of ends) end(); } };
}
