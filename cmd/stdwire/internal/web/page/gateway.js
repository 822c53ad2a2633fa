// The gateway that the page looks at: who calls what, how fast, what clients get and what it costs them,
// what is refused and withheld, and its store. The figures are of the calls that the page has seen.
import * as api from './api.js';
import { attempt, button, bytes, capital, clock, code, date, dialog, div, duration, element, empty, faint, figures, h2, h3, hint, inRow, li, p, primary, problem, replace, strong, tag, tokens, unpressed } from './dom.js';
import { finding } from './explore.js';
import { picture, shape } from './icons.js';
import { diff, parse, tree } from './json.js';
import { all, failed, listen, start } from './messages.js';
import { spark } from './spark.js';
import { definitions, on, state, throttle } from './store.js';
import { toast } from './toast.js';

const methods = ['tools/call', 'resources/read', 'prompts/get'];
const names = ['Calls', 'Errors', 'p50', 'p95'];
const most = 24; // clients, and servers, that are drawn

function measured(calls) {
	const times = calls.map(call => call.response?.ms).filter(ms => ms !== undefined).sort((a, b) => a - b);
	const at = part => times.length > 0 ? duration(times[Math.ceil(times.length * part) - 1]) : '–';
	return [calls.length, calls.length > 0 ? `${(calls.filter(failed).length / calls.length * 100).toFixed(1)} %` : '–', at(0.5), at(0.95)];
}

// flow draws lines from clients to servers, the thicker the more calls: [client, server, calls].
function flow(links) {
	const [left, right] = [0, 1].map(side => [...new Set(links.map(link => link[side]))].slice(0, most));
	const shown = links.filter(([from, to]) => left.includes(from) && right.includes(to));
	const busiest = Math.max(...shown.map(([, , calls]) => calls.length));
	const words = ([from, to, calls]) => `${from} → ${to}: ${calls.length} calls, ${calls.filter(failed).length} failed`;
	const drawing = picture(`0 0 100 ${Math.max(left.length, right.length)}`, '', shown.map(words).join('; '), ...shown.map(link => {
		const [from, to, calls] = link;
		const [a, b] = [left.indexOf(from) + 0.5, right.indexOf(to) + 0.5];
		return shape('path', { d: `M0 ${a}C50 ${a} 50 ${b} 100 ${b}`, class: calls.every(failed) ? 'bad' : '', 'stroke-width': 1.5 + 6 * calls.length / busiest, 'vector-effect': 'non-scaling-stroke' }, shape('title', {}, words(link)));
	}));
	drawing.setAttribute('preserveAspectRatio', 'none');
	return tag('div.flow', [left, drawing, right].map(side => Array.isArray(side) ? tag('ol', side.map(name => li(name))) : side));
}

const adapted = ({ other_names: names, cut_descriptions: cut }) => [names && `${names} shorter names`, cut && `${cut} descriptions cut`].filter(Boolean).join(', ');

// review compares a withheld definition with its pin, beside what the scan finds, and accepts it.
async function review(server, { kind, name, why }) {
	const found = await api.post('gateway/review', { server, kind, name });
	const outcome = div();
	const shown = dialog(`${name} of ${server}`, {}, hint(why), found.findings.map(finding), found.diff ? diff(found.diff) : tree(parse(found.now)), outcome,
		inRow(primary('Accept the definition', () => attempt(outcome, async () => {
			await api.post('gateway/accept', { server, kind, name, now: found.now, sha256: found.sha256 });
			shown.close();
		})), button('Keep it withheld', () => shown.close())));
}

export function gateway(root) {
	const place = element('div.stack', { test: 'gateway' });
	const outcome = div();
	replace(root, h2('Gateway'), outcome, place);
	const card = (title, ...content) => tag('section.card', h3(title), content);
	const part = (title, columns, rows, ...below) => rows?.length > 0 && card(title, figures(columns, rows), below);
	const sign = (now, text = capital(now)) => element('span', { class: `state state-${now}` }, text);
	const effects = { deny: 'bad', ask: 'warn' };
	const store = ({ url, server, reachable, since, error, parts, affected = {} }) => card('Store', p(sign(...reachable ? ['ready', 'Reachable'] : ['failed', 'Not reachable']), faint(' since ', date(since), ', ', code(url), ' ', server)),
		error && tag('p.problem', error), figures(['What uses it', 'Without it, now'], parts.map(one => [one, affected[one] ?? ''])));
	let about = {};
	let shown;
	const update = unpressed(place, () => {
		const servers = state.servers.filter(server => server.watched);
		const itself = state.servers.find(server => server.gateway)?.id;
		const calls = Map.groupBy(all.filter(one => one.kind === 'request' && one.from === 'client' && methods.includes(one.method)), one => one.lane);
		const clients = [...calls.keys()].filter(lane => !state.servers.some(({ id }) => id === lane));
		const links = clients.flatMap(lane => servers.map(({ id }) => [lane, id, calls.get(lane).filter(call => call.about?.startsWith(`${id}__`))])).filter(link => link[2].length > 0);
		const every = clients.flatMap(lane => calls.get(lane));
		const tools = state.lists.get(itself)?.tool;
		const cost = id => {
			const sum = tools?.filter(({ definition }) => String(definition.name).startsWith(`${id}__`)).reduce((sum, tool) => sum + tool.tokens, 0);
			return sum ? tokens(sum) : '';
		};
		const rows = servers.map(({ id, state: now, memory, tools, problem: why }) => [id, now, why?.message, ...measured(calls.get(id) ?? []), tools ?? '', cost(id), memory ? bytes(memory) : '']);
		const held = servers.flatMap(({ id, withheld }) => (withheld ?? []).map(item => ({ ...item, server: id })));
		const lanes = clients.map(lane => [lane, ...measured(calls.get(lane))]);
		const text = JSON.stringify([rows, held, lanes, about, Math.floor(Date.now() / 60_000)]);
		if (text === shown) return;
		shown = text;
		replace(place, about.problem && div(problem(about.problem)), tag('dl.card.stats', measured(every).map((value, i) => div(tag('dt', names[i]), tag('dd', strong(value))))),
			part('Waits for your review', ['What', 'Server', 'Why', 'To do'], held.map(item => [`${item.kind} ${item.name}`, item.server, item.why,
				['changed', 'new', 'another'].includes(item.reason) ? button('Compare', () => attempt(outcome, () => review(item.server, item)), { label: `Compare ${item.name}` }) : item.remedy])),
			part('Changes that wait', ['Change', 'Why', 'File'], about.waiting?.map(one => [`${one.kind} ${one.name ?? ''}`, one.why, one.source]), hint('At the terminal: ', code('stdwire trust'), ' shows the whole change and accepts it.')),
			about.invalid?.length > 0 && card('Errors of the configuration', about.invalid.map(why => tag('p.problem', why))),
			about.store && store(about.store),
			part('Refused by rules', ['Call', 'Who', 'Effect', 'Rule', 'Argument', 'Last'], about.refusals?.map(one => [`${one.server} ${one.name}`, one.principal ?? '',
				element('span', { class: `badge ${one.passed ? '' : effects[one.effect]}` }, one.passed ? `would ${one.effect}` : one.effect), code(one.rule), one.argument ?? '', clock(one.at)])),
			card('Who calls what', links.length > 0 && flow(links), lanes.length > 0 ? figures(['Lane', ...names, 'Last hour'], lanes.map(row => [...row, spark(calls.get(row[0]))]))
				: empty('No calls yet', 'The page sees the calls of clients since it was opened.', 'Timeline')),
			card('Servers', figures(['Server', 'State', ...names, 'Tools', 'Cost', 'Memory', 'Last hour'], rows.map(([id, now, why, ...rest]) => [id, [sign(now), why && tag('div.wide.hint', why)], ...rest, spark(calls.get(id) ?? [])]))),
			part('Who is connected', ['Client', 'Who', 'Profile', 'Discovery', 'Tools', 'It got', 'Of', 'Adapted'], about.clients?.map(one => [one.client || 'without a name', one.principal ?? '', one.profile || 'all servers',
				one.search ? 'by a search' : 'as a list', one.tools, tokens(one.listed_bytes / 4), tokens(one.bytes / 4), adapted(one)])),
			part('Logins of users', ['User', 'Server', 'State', 'Kept until', 'By the client', 'Scopes', 'To do'], about.logins?.map(({ user, client, server, state: now, until, scopes }) => [user, server, now, date(until), client ?? '', scopes?.join(' ') ?? '',
				button('Revoke', () => attempt(outcome, async () => {
					const { warning } = await api.post('gateway/revoke', { user, client, server });
					toast(warning ?? 'Revoked');
				}), { class: 'bad', label: `Revoke the login of ${user} at ${server}` })]), about.logins_more > 0 && hint(`${about.logins_more} more: `, code('stdwire auth users'))),
			part('Profiles', ['Profile', 'Tools', 'Cost'], about.costs?.map(one => [one.profile, one.tools, tokens(one.bytes / 4)])),
			part('Rates', ['Rate', 'Limit', 'Refused'], about.rates?.map(one => [one.rate, one.limit ?? '', one.refused])));
	});
	const { soon, stop } = throttle(update, 'counts');
	const look = async () => {
		const itself = state.servers.find(server => server.gateway);
		if (itself?.state === 'ready') definitions(itself.id).catch(() => {}); // its views say why
		about = await api.get('gateway').catch(() => about);
		update();
	};
	const ends = [listen(soon), on('servers', look), stop];
	start();
	look();
	return { close() { for (const end of ends) end(); } };
}
