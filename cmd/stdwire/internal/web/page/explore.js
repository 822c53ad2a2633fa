// The definitions of servers: a list that can be searched, and the selected definition beside it.
import * as api from './api.js';
import { hasApp } from './apps.js';
import { anchor, attempt, button, capital, code, div, element, empty, faint, folded, h2, hint, input, li, muted, p, problem, replace, select, short, strong, tag, tokens } from './dom.js';
import { icon } from './icons.js';
import { diff, tree } from './json.js';
import { markdown } from './markdown.js';
import { pages } from './pages.js';
import { panel } from './panels.js';
import { search } from './rank.js';
import { splitter } from './splitter.js';
import { definitions, emit, on, select as selected, state } from './store.js';
import { virtual } from './virtual.js';

export const kinds = { tools: 'tool', resources: 'resource', templates: 'resource template', prompts: 'prompt', skills: 'skill', apps: 'tool' };

const why = { tools: 'A tool is something that a server does when a model, or you, calls it.', resources: 'A resource is a text or file that a server lets its clients read.',
	templates: 'A template is the pattern of addresses of resources that a server does not list.', prompts: 'A prompt is a message that a server offers to start with.',
	skills: 'A skill is a folder of instructions for a model.', apps: 'An app is a page that a server shows with the result of a tool.' };

// image returns an icon of a definition that can be shown without a request to another server.
export function image(definition) {
	const src = Array.isArray(definition.icons) && definition.icons.find(icon => /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/.test(icon?.src))?.src;
	return src ? element('img.icon', { src, alt: '' }) : null;
}

// asText returns what should be a text, and may be anything, as one.
const asText = value => typeof (value ?? '') === 'string' ? value : json(value);

const identity = { tool: 'name', prompt: 'name', resource: 'uri', 'resource template': 'uriTemplate', skill: 'uri' };

// key returns what names a definition among those of its kind.
export const key = (definition, kind) => String(asText(definition[identity[kind]]));

// named returns a definition with its name, title and description as texts: a skill has them in its front
// matter, an older tool its title in its annotations.
export const named = d => ({ ...d, name: asText(d.name ?? d.frontmatter?.name), title: asText(d.title ?? d.annotations?.title),
	description: asText(d.description ?? d.frontmatter?.description) });

const json = JSON.stringify;

// once returns a function that calls f once for each object.
function once(f) {
	const known = new WeakMap();
	return object => {
		if (!known.has(object)) known.set(object, f(object));
		return known.get(object);
	};
}

const kept = once(json);

// texts returns what of a definition is searched, see search.
const texts = once(definition => {
	const d = named(definition);
	const names = [d.name, d.title, asText(d.uri), asText(d.uriTemplate)].filter(Boolean).map(text => text.toLowerCase());
	return [[...names, d.description].join(' ').toLowerCase(), ...names];
});

const cost = all => all.reduce((sum, { item }) => sum + (item.tokens ?? 0), 0);

const badge = (text, kind, title, sign) => element('span', { class: `badge ${kind}`, title }, sign && icon(sign), text);

export const finding = ({ severity, rule, what, where, evidence, advice }) => tag(`div.problem.${severity}`, strong(`${severity}, ${rule}: `), what, where && code(` ${where}`), evidence && tag('pre', evidence), hint(advice));

function labels(item) {
	const visibility = item.definition._meta?.ui?.visibility;
	const severe = ['critical', 'high'].includes(item.findings?.[0]?.severity);
	return [item.denied && badge('not allowed', 'bad', 'The configuration does not allow this tool.'),
		item.excluded && badge('excluded', 'bad', item.excluded),
		item.offered && badge(item.offered.hidden ? 'not offered' : 'overridden', item.offered.why ? 'bad' : '', 'By overrides of the configuration.'),
		item.pin === 'new' && badge('new', 'warn', 'It is not pinned.'),
		item.pin === 'changed' && badge('changed', 'bad', 'It differs from its pin.'),
		item.findings?.length > 0 && badge(`${item.findings[0].severity}: ${item.findings.length}`, severe ? 'bad' : item.findings[0].severity === 'medium' && 'warn', item.findings.map(f => f.what).join('\n')),
		hasApp(item.definition) && badge('app', '', 'It has an app.'),
		Array.isArray(visibility) && !visibility.includes('model') && badge('not for models', '', 'Hosts do not offer it to models.')];
}

// effects returns what the annotations say that a tool does: [icon, words, sentence].
function effects({ definition }) {
	const a = definition.annotations ?? {};
	return [a.readOnlyHint && ['readOnly', 'read-only', 'The server says that it changes nothing.'],
		a.readOnlyHint === false && a.destructiveHint !== false && ['destructive', 'destructive', 'The server says that it may destroy something.'],
		a.idempotentHint && [null, 'idempotent', 'The server says that a repeated call has no further effect.'],
		a.openWorldHint && ['openWorld', 'open world', 'The server says that it reaches other systems.']].filter(Boolean);
}

function badges(item) {
	const task = item.definition.execution?.taskSupport;
	return [labels(item), effects(item).map(([sign, words, sentence]) => badge(words, sign === 'destructive' ? 'bad' : '', sentence, sign)),
		task && task !== 'forbidden' && badge(`task ${task}`, '')];
}

let entering = false; // what is open next gets the focus

// enter opens a definition, and goes to its form.
export function enter(...parts) {
	entering = true;
	const to = api.address(...parts);
	if (location.hash === to) dispatchEvent(new Event('hashchange'));
	else location.hash = to;
}

// focusForm goes to the form of what is open, or to the button that runs it.
export const focusForm = root => (root.querySelector('.detail .form :is(input:not([type=checkbox]), textarea, select)') ?? root.querySelector('.detail .primary'))?.focus();

export function count(view) {
	const lists = state.servers.filter(server => server.state === 'ready').map(({ id }) => state.lists.get(id)?.[kinds[view]] ?? []).flat();
	return view === 'apps' ? lists.filter(({ definition }) => hasApp(definition)).length : lists.length;
}

// looked has the definitions as the user last saw them, as JSON by name, for each server and kind.
const looked = new Map();

// since returns the changes since the user last saw a list: { now, fresh(name), gone }. The definition
// that is open counts as seen.
function since(place, kind, list, open) {
	const now = new Map(list.map(({ definition }) => [key(definition, kind), kept(definition)]));
	if (!looked.has(place)) looked.set(place, now);
	const before = looked.get(place);
	if (now.has(open)) before.set(open, now.get(open));
	return { now, fresh: name => !before.has(name) ? 'just added' : before.get(name) !== now.get(name) && 'just changed',
		gone: [...before.keys()].filter(name => !now.has(name)) };
}

export function explore(root, view) {
	const kind = kinds[view];
	let at = { parts: [] }; // of the address, or first: what the page has selected
	let entries = []; // { server, item, fresh }
	const shownLists = new Map(); // the definitions that are shown, by server and kind
	let only; // the server whose list is shown, or '' for all that run
	let unknown = new Set(); // the servers whose definitions are not known: what is open stays open
	let shown = []; // entries, and names of servers, that the list shows
	let open = ''; // what the panel shows, as JSON
	let fetches = 0; // of which only the latest acts
	let again; // the timer of a fetch after a broken connection
	let panelEnd;
	const find = input('search', { placeholder: `Search ${view}  ( / )`, label: `Search ${view}`, oninput: () => {
		list();
		scroller.scrollTop = 0; // the best is the first
	}, onkeydown: event => {
		const best = shown.find(entry => entry.item);
		if (event.key !== 'Enter' || event.isComposing || event.ctrlKey || event.metaKey || !best) return;
		event.preventDefault(); // the key would press what gets the focus
		enter(view, best.server, key(best.item.definition, kind));
	} });
	const chooser = div();
	const byPage = pages(view);
	const items = element('ul.items', { label: view, test: 'definitions' });
	const scroller = tag('div.scroller', items);
	const rows = virtual(scroller, items, { token: '--item', row, drawn: mark, key: entry => entry.group === undefined ? entry : `${entry.count} ${entry.group}` });
	const sum = faint();
	const byCost = input('checkbox', { onchange: () => {
		rows.clear();
		list();
	} });
	const costs = element('label', { hidden: true, title: 'What a model pays for the definitions, a token being about 4 bytes' }, byCost, ' by cost');
	const notes = div();
	const none = muted();
	const detail = element('section.detail', { label: kind, test: 'definition' });
	replace(root, tag('div.split', tag('div.side', tag('div.ends', h2(capital(view)), sum, costs),
		chooser, find, notes, byPage.node, none, scroller), detail, splitter('list', 'Width of the list')));

	const address = (...parts) => api.address(view, ...parts);

	// fetch gets the lists of the chosen server, or of all running servers.
	function fetch() {
		const usable = state.servers.filter(server => !server.watched).filter(server => only ? server.id === only : server.state === 'ready' || state.servers.length === 1);
		choose();
		byPage.update(usable.length === 1 && usable[0].state !== 'disabled' ? usable[0].id : undefined);
		if (usable.length > 0 && (!panelEnd || entries.length > 0) && !entries.some(entry => usable.some(({ id }) => id === entry.server))) {
			entries = [];
			list();
			panelEnd?.close();
			panelEnd = undefined;
			open = '';
			const wait = empty(`Waiting for ${usable.map(({ id }) => id).join(', ')} …`, why[view], 'Servers');
			wait.classList.add('wait');
			replace(detail, wait, usable.map(server => server.problem && problem(server.problem)));
		}
		const ids = usable.filter(server => server.state !== 'disabled').map(server => server.id);
		const mine = ++fetches;
		const answers = new Map(); // of the servers that have answered, so that a slow one delays no other
		const show = () => { if (mine === fetches) arrange(usable, ids, answers); };
		for (const id of ids) definitions(id).then(value => answers.set(id, { value }), reason => answers.set(id, { reason })).then(show);
		if (ids.length === 0) show();
	}

	// arrange shows what servers have answered.
	function arrange(usable, ids, answers) {
		clearTimeout(again);
		const found = [];
		const problems = [];
		const failed = new Set();
		const before = new Map(entries.map(entry => [json([entry.server, key(entry.item.definition, kind)]), entry]));
		const asBefore = (id, why) => {
			failed.add(id);
			problems.push(why);
			found.push(...entries.filter(entry => entry.server === id));
		};
		for (const id of ids) {
			const answer = answers.get(id);
			if (!answer) {
				asBefore(id, muted(`Waiting for ${id} …`));
				continue;
			}
			try {
				const all = answer.value;
				const why = answer.reason ?? all.problems?.[kind];
				if (why) throw why;
				if (all.pins) problems.push(problem(all.pins));
				if (all.identity) problems.push(tag('p.problem', `${id} has changed its identity since it was pinned: ${all.identity}`));
				problems.push(all.findings.map(finding));
				const place = json([id, view]);
				const known = (all.lists[kind] ?? []).filter(({ definition }) => view !== 'apps' || hasApp(definition));
				const { now, fresh, gone } = since(place, kind, known, id === at.parts[0] && at.parts[1]);
				shownLists.set(place, now);
				if (gone.length > 0) problems.push(muted(`Gone since you looked: ${gone.join(', ')}`));
				for (const item of known) {
					const name = key(item.definition, kind);
					const earlier = before.get(json([id, name]));
					const entry = { server: id, item, fresh: fresh(name) };
					// what has not changed keeps its row, the focus, and a click that has begun
					found.push(earlier?.fresh === entry.fresh && kept(earlier.item) === kept(item) ? earlier : entry);
				}
			} catch (error) {
				asBefore(id, div(strong(id), problem(error)));
				if (error.code === 'server_died') again = setTimeout(fetch, 2000);
			}
		}
		entries = found;
		unknown = failed;
		replace(notes, problems, usable.length === 0 && state.servers.some(server => server.watched) && muted('Select the gateway: it lists what this server has.'));
		list();
		select1();
		if (entering && root.dataset.selected === 'true') {
			entering = false;
			focusForm(root);
		}
	}

	let chooses = '';
	function choose() {
		const options = state.servers.map(server => server.id);
		if (chooses === (chooses = json([options, only]))) return; // it may be open
		replace(chooser, options.length > 1 && select([['', 'all running servers'], ...options], only,
			id => { location.hash = address(...id ? [id] : []); }, { label: 'Server' }));
	}

	function mark() {
		for (const a of items.querySelectorAll('a')) a.ariaCurrent = a.getAttribute('href') === address(...at.parts) || null;
	}

	// list shows the entries that the search selects: without a search those of each server below its name.
	function list() {
		const wanted = find.value.trim();
		shown = search(entries, wanted, ({ server: id, item: { definition } }) => {
			const [all, ...names] = texts(definition);
			return [`${id.toLowerCase()} ${all}`, ...names];
		});
		none.textContent = entries.length > 0 && shown.length === 0 ? 'Nothing matches.' : '';
		if (byCost.checked) shown = shown.toSorted((a, b) => (b.item.tokens ?? 0) - (a.item.tokens ?? 0));
		if (state.servers.length > 1 && !only && !wanted && !byCost.checked) shown = [...Map.groupBy(shown, entry => entry.server)].flatMap(([id, all]) => [{ group: id, count: counted(all) }, ...all]);
		costs.hidden = cost(entries) === 0;
		sum.textContent = entries.length === 0 ? '' : counted(entries);
		rows.set(shown);
	}

	const counted = all => [all.length.toLocaleString(), cost(all) && tokens(cost(all))].filter(Boolean).join(' · ');

	// row shows an entry, or the name of the server of those that follow.
	function row({ group, count, server: id, item, fresh }) {
		if (group !== undefined) return tag('li.label.group', group, tag('span.count', count));
		const d = named(item.definition);
		const name = key(d, kind);
		const title = short(d.title ?? d.name ?? name);
		const dear = byCost.checked && item.tokens;
		const [effect] = effects(item).filter(([sign]) => sign === 'readOnly' || sign === 'destructive');
		return li(element('a', { href: address(id, name), title: short(name) },
			tag('span.line', image(d), tag('span.name', title), fresh && badge(fresh, 'info'), labels(item)),
			dear ? tag('span.effect.count', tokens(dear)) : effect && element('span', { class: `effect ${effect[0] === 'destructive' ? 'bad' : ''}` }, icon(effect[0], effect[1])),
			title === name ? tag('span.muted.line', short(d.description ?? '')) : tag('code.muted.line', short(name))));
	}

	// select1 shows the entry of the address, or the first one where the list does not fill the page.
	function select1() {
		const [path, query] = location.hash.split('?');
		const here = () => json(path.split('/').slice(1).map(decodeURIComponent)) === json([view, ...at.parts]);
		const entryOf = ([id, name]) => entries.find(entry => entry.server === id && key(entry.item.definition, kind) === name);
		if (at.first && here()) at = { parts: at.parts }; // the user has called it
		// it has vanished, or is not the first any more and the user not at it
		if (at.first && !(unknown.has(at.parts[0]) || entryOf(at.parts) && (entryOf(at.parts) === entries[0] || detail.matches(':hover, :focus-within')))) at = { parts: [] };
		if (at.parts[1] === undefined && entries.length > 0 && matchMedia('(min-width: 47.51em)').matches) {
			const first = entries[0];
			at = { first: true, parts: [first.server, key(first.item.definition, kind)] };
			mark();
		}
		const [id, name] = at.parts;
		const chosen = name !== undefined && !at.first;
		const found = entryOf(at.parts);
		const shows = Boolean(found) || kind === 'resource' && name !== undefined;
		root.dataset.selected = String(chosen && shows); // in a narrow window the list stays until the user selects
		const yet = (name ? unknown.has(id) : unknown.size) ? ' yet' : '';
		const now = json([id, name, found?.item ?? yet]);
		const same = open.startsWith(json([id, name]).slice(0, -1) + ',');
		if (now === open || !found && same && unknown.has(id)) {
			panelEnd?.update?.(chosen); // the server may have connected, so that its capabilities are known
			return;
		}
		open = now;
		if (found) rows.show(shown.indexOf(found));
		panelEnd?.close();
		panelEnd = undefined;
		replace(detail);
		selected(name === undefined ? {} : { server: id, name });
		if (!shows) {
			const failing = state.servers.filter(server => server.problem).map(({ id }) => id).join(', ');
			if (entries.length === 0 || name !== undefined) replace(detail, empty((name ? `${name} is not listed` : `No ${view}`) + yet, `${why[view]} No server that runs lists ${name ? 'it' : 'any'}${yet}.${failing ? ` Failed: ${failing}.` : ''}`, 'Servers'));
			return;
		}
		const item = found?.item ?? { definition: { uri: name, name } }; // a resource need not be listed
		const place = div();
		replace(detail, tag('p.back', anchor(address(...only ? [only] : []), '← all')), head(item), about(item, id), place,
			folded('Definition', tree(item.definition)));
		try {
			panelEnd = panel(kind, place, id, item.definition, { query: new URLSearchParams(here() ? query : ''), address: address(id, name), chosen });
		} catch (error) { // the definition is invalid
			replace(place, problem({ code: 'invalid', message: `The definition cannot be used: ${error.message}` }));
		}
	}

	function head(item) {
		const d = named(item.definition);
		const title = d.title ?? d.name ?? key(d, kind);
		return [h2(image(d), title), tag('p.row', title !== key(d, kind) && tag('code.muted', key(d, kind)), d.mimeType && faint(d.mimeType),
			d.size !== undefined && faint(`${d.size} bytes`), item.tokens && element('span.muted', { title: 'A quarter of the bytes of the definition' }, tokens(item.tokens)), badges(item)),
		d.description && tag('div.description', markdown(d.description))];
	}

	const overridden = ({ hidden, why, name, diff: lines }) => why ? problem({ message: 'A gateway cannot override it so, and does not offer it.', hint: why })
		: hidden ? hint('Overrides of the configuration hide it: a gateway does not offer it.')
		: tag('details.offered', tag('summary', 'Overridden: a gateway offers it as ', code(name)), hint('− is what the server says, + what clients get.'), diff(lines));

	function about(item, id) {
		const outcome = div();
		return [
			item.findings?.map(finding),
			item.excluded && tag('div.problem', strong('Excluded: '), item.excluded),
			item.offered && overridden(item.offered),
			item.headers && hint('Also sent as headers: ', item.headers.map(({ argument, header }) => `${argument} as ${header}`).join(', ')),
			item.portability && tag('details.portability', tag('summary', `Portability: what hosts convert for some models (${item.portability.length})`),
				tag('dl.diff', item.portability.map(({ what, places }) => [tag('dt', what), tag('dd', places.map(place => place.where).join('\n'))]))),
			(item.pin === 'new' || item.pin === 'changed') && tag('div.problem', strong(`This ${kind} is ${item.pin} since the server was pinned.`),
				p('Until you accept it, a gateway does not offer it. Accepting pins the definition as it is now, and a later change waits again.'),
				item.diff && diff(item.diff), button('Accept the definition', () => attempt(outcome, async () => {
					await api.post(api.of(id, 'pins'), { kind, names: [key(item.definition, kind)] });
					state.definitions.delete(id);
					emit('definitions');
				})), outcome),
		];
	}

	let states = '';
	const ends = [on('servers', () => { // ignores changes that are not about the panel's server
		const now = json(state.servers.map(server => [server.id, server.state, Boolean(server.details)]));
		if (now !== states) fetch();
		states = now;
	}), on('definitions', () => fetch())];
	return {
		show(next) {
			const [id, name] = next.parts;
			// what the list of all servers has opens beside it
			if (name === undefined || only === undefined || id !== only && (only || !entries.some(entry => entry.server === id))) only = id ?? '';
			at = next;
			fetch();
		},
		key(event) {
			const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
			if (step === undefined) return false;
			const links = [...items.querySelectorAll('a')];
			const now = links.findIndex(a => a === document.activeElement || a.getAttribute('aria-current') === 'true' && !links.includes(document.activeElement));
			links[Math.min(Math.max(now + step, 0), links.length - 1)]?.focus();
			return true;
		},
		close() {
			fetches++;
			clearTimeout(again);
			panelEnd?.close();
			rows.close();
			for (const end of ends) end();
			for (const [place, now] of shownLists) looked.set(place, now);
			delete root.dataset.selected;
			selected({});
		},
	};
}
