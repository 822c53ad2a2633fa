// The servers: their state, the problem of a server that has failed, and actions on them.
import * as api from './api.js';
import { authorization } from './authorization.js';
import { add, base, clone, configuration, edit, exporting, move, remove, review } from './config.js';
import { append, attempt, button, bytes, capital, clock, copyIcon, div, duration, element, empty, figures, folded, h2, h3, head, hint, input, inRow, keyed, li, many, muted, p, pairs, primary, problem, replace, status, strong, tag, tokens } from './dom.js';
import { kinds } from './explore.js';
import { extensions } from './extensions.js';
import { firstRun } from './first.js';
import { icon } from './icons.js';
import { tree } from './json.js';
import { menu } from './menu.js';
import { changeRoots } from './roots.js';
import { definitions, on, refresh, server as known, state } from './store.js';

export const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

const dragged = 'text/x-stdwire'; // the type of what is dragged, the id of a server

const pause = 5000; // ms between two looks at the memory of the servers

export function servers(root) {
	const list = tag('div.cards');
	const sum = tag('span.muted');
	const files = tag('div.row.push');
	const outcome = div();
	const sets = div();
	const whole = div(inRow(h2('Servers'), sum, files), list, sets);
	let profiles = {};
	const start = div();
	replace(root, outcome, start, whole);
	const endExtensions = state.servers.some(server => !server.watched) ? extensions(whole) : () => {};
	const keep = keeper();
	const pick = picked => review(picked, id => { location.hash = api.address('tools', id); });
	let off; // why no server can be added
	let editable = []; // files
	const cards = new Map(); // id → { node, update }
	const summarize = () => {
		whole.hidden = state.servers.length === 0;
		const rows = Object.entries(profiles).map(([name, ids]) => [name, ids.join(', '), cost(...ids) || 'not known: none runs']);
		keep(sets, rows, () => rows.length > 0 && tag('section.card', h3('Profiles'), figures(['Profile', 'Servers', 'Cost of the tools of those that run'], rows)));
		const states = Map.groupBy(state.servers, server => server.state);
		sum.textContent = [...states].map(([name, all]) => `${all.length} ${name}`).join(', ');
		if (!whole.hidden) replace(start);
		else if (off !== undefined && start.childElementCount === 0) {
			replace(start, off ? empty('No servers', `This page shows messages, and changes no servers: ${off}.`, 'Timeline') : firstRun(pick));
		}
	};
	configuration().then(({ off: why = '', files: all, profiles: some }) => {
		off = why;
		profiles = some ?? {};
		replace(files, off ? muted(`Read only: ${off}.`)
			: [button('Export', () => attempt(outcome, exporting), { class: 'quiet', title: 'Without secrets' }), primary('Add server', add)]);
		if (!off) editable = all.map(file => file.path);
		summarize();
		for (const card of cards.values()) card.files(editable);
		update();
	}, error => replace(outcome, problem(error)));
	const update = () => {
		summarize();
		keyed(cards, state.servers, server => server.id, ({ id }) => {
			const made = card(id);
			made.files(editable);
			list.append(made.node);
			return made;
		});
		for (const [i, { id }] of state.servers.entries()) {
			const { node } = cards.get(id);
			if (list.children[i] === node) continue;
			const focused = node.contains(document.activeElement) && document.activeElement;
			list.insertBefore(node, list.children[i]);
			if (focused) focused.focus();
		}
	};
	update();
	const ends = [on('servers', update), on('counts', update)];
	const timer = setInterval(() => { if (!document.hidden && state.servers.some(server => server.memory)) refresh('servers'); }, pause);
	return {
		show(at) { cards.get(at.parts[0])?.node.querySelector('.switch').focus(); }, // which the browser scrolls to
		close() {
			clearInterval(timer);
			for (const end of ends) end();
			endExtensions();
			for (const card of cards.values()) card.close();
		},
	};
}

const cost = (...ids) => {
	const sum = ids.flatMap(id => state.lists.get(id)?.tool ?? []).reduce((sum, tool) => sum + tool.tokens, 0);
	return sum > 0 && tokens(sum);
};

const transport = server => server.gateway ? 'socket' : server.url ? 'HTTP' : server.command ? 'stdio' : undefined;

// keeper returns a function that replaces what a node shows if the value has changed: what is open stays open.
function keeper() {
	const known = new Map();
	return (node, value, show) => {
		const text = JSON.stringify(value);
		if (known.get(node) === text) return false;
		known.set(node, text);
		replace(node, show(value));
		return true;
	};
}

function card(id) {
	const of = action => api.of(id, action);
	const outcome = status();
	const log = div();
	const word = tag('span.state');
	const uses = tag('span.muted');
	const where = tag('div.well');
	const stats = tag('dl.stats');
	const trouble = div();
	const links = tag('div.row');
	const facts = tag('dl.facts');
	const more = div();
	const access = div();
	const keep = keeper();
	let authorized;
	let connection = ''; // the state of the server when authorized was last updated
	let now = {}; // the server
	let editable = [];
	const withoutStream = input('checkbox', { onchange: () => attempt(outcome, () =>
		api.post(of('stream'), { omit: withoutStream.checked })) });
	const stream = element('p', { hidden: true }, tag('label', withoutStream, ' Without the GET stream'),
		tag('span.hint', ' The server can say nothing between calls. A change restarts it.'));
	// tidy removes the problem of an action if the server's own state shows it, or the server is ready.
	const tidy = ready => {
		const earlier = outcome.querySelector(':scope > .problem');
		if (earlier && (ready || earlier.textContent === trouble.querySelector('.problem')?.textContent)) earlier.remove();
	};
	const act = async action => {
		await attempt(outcome, () => api.post(of(`do/${action}`)));
		tidy();
		flip();
	};
	const runs = () => ['ready', 'starting', 'failed', 'waiting'].includes(now.state);
	const toggle = input('checkbox', { role: 'switch', class: 'switch', label: `${id} runs`, onchange: async () => {
		const to = toggle.checked ? 'start' : 'stop'; // act sets the switch
		if (now.state === 'disabled') await act('enable');
		act(to);
	} });
	const flip = () => {
		toggle.checked = runs();
		toggle.title = toggle.checked ? 'Stop' : 'Start';
	};
	// beside returns the server before (-1) or after (1) this one in its file.
	const beside = step => {
		const all = state.servers.filter(server => server.file === now.file);
		return all[all.findIndex(server => server.id === id) + step]?.id;
	};
	const own = () => !now.watched && !now.gateway;
	const change = (text, action, attributes) => editable.includes(now.file) && [text, () => attempt(outcome, action), attributes];
	const actions = menu(`More for ${id}`, () => [
		now.state === 'disabled' ? ['Enable', () => act('enable')] : [['Restart', () => act('restart')], ['Disable', () => act('disable')]],
		own() && ['Roots …', () => changeRoots(id)], own() && !now.added && ['Doctor', () => examine(outcome, id)],
		now.details?.capabilities?.logging && ['Log level …', () => replace(outcome, inRow(tag('span.label', 'Log level'),
			levels.map(level => button(level, () => attempt(outcome, async () => {
				await api.post(of('level'), { level });
				replace(outcome, p(`It logs from ${level} on.`));
			}), { class: 'quiet' }))))],
		change('Edit', () => edit(id)), change('Clone', () => clone(id)),
		beside(-1) && change('Move up', () => move(id, beside(-1), now.file)), beside(1) && change('Move down', () => move(id, beside(1), now.file)),
		now.added && ['Forget', () => act('forget'), { class: 'bad' }],
		change(`Remove from ${now.file && base(now.file)} …`, () => remove(id, now.file), { class: 'bad' }),
	].flatMap(entry => Array.isArray(entry?.[0]) ? entry : [entry]));
	// A card that is dragged by its title to another one of its file takes its place.
	const title = element('h3', { ondragstart: event => event.dataTransfer.setData(dragged, id) }, id);
	const node = element('section.card.server', { label: id, test: `server-${id}`, ondragover: event => { if (event.dataTransfer.types.includes(dragged)) event.preventDefault(); },
		ondrop: event => {
			const from = event.dataTransfer.getData(dragged);
			if (from === id || known(from)?.file !== now.file) return;
			event.preventDefault();
			attempt(outcome, () => move(from, id, now.file));
		} },
		inRow(title, word, uses, tag('span.push'), toggle, actions),
		where, stats, trouble, outcome, log, access, folded('Details', facts, stream, more), links);
	const counts = server => {
		const lists = state.lists.get(id);
		const found = server.state === 'ready' && lists ? Object.entries(kinds).filter(([view]) => view !== 'apps' && lists[kinds[view]]?.length).map(([view, kind]) => [view, lists[kind].length])
			: [['tools', server.tools]];
		return server.watched ? [] : found.length > 0 ? found : [['tools']];
	};
	return { node, close: () => authorized?.close(), files(all) { editable = all; }, update(server) {
		now = server;
		title.draggable = editable.includes(now.file) && Boolean(beside(-1) ?? beside(1));
		const { details, url } = server;
		const ready = server.state === 'ready';
		flip();
		toggle.hidden = Boolean(server.gateway);
		actions[0].hidden = Boolean(server.gateway);
		word.className = `state state-${server.state}`;
		word.textContent = capital(server.state);
		uses.textContent = server.uses > 0 ? `${server.uses} in use` : '';
		const reached = url || server.command;
		where.hidden = !reached;
		keep(where, reached, text => text && [icon(url ? 'openWorld' : 'command'), element('code.line', { title: text }, text), copyIcon(text, `Copy how ${id} is reached`)]);
		const era = details ?? (server.revision ? server : undefined);
		keep(stats, [['Transport', transport(server)], ['Era', era?.era], ['Ready after', server.took_ms && duration(server.took_ms)],
			['Memory', server.memory && bytes(server.memory)], ['Tools', server.watched && server.tools], ['Cost of tools', cost(id)],
			[capital(server.state), !ready && server.since && `since ${clock(server.since)}`]], pairs);
		keep(trouble, [server.problem, server.retry_at, server.restarts], () => server.problem && [problem(server.problem),
			server.retry_at && hint(`Next try at ${clock(server.retry_at)}${server.restarts ? `; restarted ${many(server.restarts, 'time')}` : ''}.`),
			own() && inRow(button('Try now', () => act('restart')), !server.added && button('Doctor', () => examine(outcome, id), { class: 'quiet' }))]);
		if (url && !server.watched && !server.gateway && !authorized) {
			authorized = authorization(id);
			append(access, authorized.node);
		}
		access.hidden = !url;
		stream.hidden = !server.no_stream && (!url || server.watched || details?.era !== 'legacy');
		withoutStream.checked = Boolean(server.no_stream);
		tidy();
		if (connection !== (connection = `${server.state} ${server.since} ${url}`)) {
			authorized?.update();
			tidy(ready);
			if (ready && !server.watched && !server.gateway) definitions(id).catch(() => {}); // its views say why
		}
		keep(links, counts(server), all => [all.map(([view, n]) => element('a.button.quiet', { href: api.address(view, id), title: capital(view) }, icon(view, all.length > 3 && capital(view)), all.length < 4 && capital(view), n !== undefined && strong(n))), element('a.button.quiet.push', { href: api.filtered(`server:${id}`) }, 'Messages'),
			!server.gateway && button('Logs', () => showLog(log, id), { class: 'quiet' })]);
		keep(facts, [['selected by', server.gateway ? 'its socket, as a client' : server.selector], ['configured at', server.source], ['server', details && name(details.info)],
			['handshake', details && `${details.revision}, ${details.era} era, by ${details.method}`], ['process', details?.pid],
			['capabilities', details && Object.keys(details.capabilities ?? {}).join(', ')], ['restarts', server.restarts]], pairs);
		keep(more, details, () => details && [details.instructions && folded('Instructions', tag('pre', details.instructions)),
			folded('Handshake', tree(details.handshake)),
			details.environment?.length > 0 && folded('Environment',
				hint('Names only: the values are not sent to the page.'), p(details.environment.join(' ')))]);
	} };
}

const name = info => [info?.title ?? info?.name, info?.version].filter(Boolean).join(' ');

// examine shows the report of stdwire doctor, which starts the server a second time.
async function examine(place, id) {
	replace(place, p('The doctor starts the server a second time …'));
	const report = await attempt(place, () => api.post(api.of(id, 'doctor')));
	if (!report) return;
	replace(place, p(strong(`doctor: ${report.verdict}`)),
		tag('ul', report.findings.map(finding => li(`${finding.severity}: ${finding.what}`,
			finding.hint && hint(finding.hint)))));
}

async function showLog(place, id) {
	const written = await attempt(place, () => api.get(api.of(id, 'log')));
	if (written) {
		replace(place, head('Standard error'),
			// eslint-disable-next-line no-control-regex
			element('pre.log', { tabindex: '0' }, written.text.replace(/\x1b\[[0-9;]*[A-Za-z]/g, '') || '(nothing)'));
	}
}
