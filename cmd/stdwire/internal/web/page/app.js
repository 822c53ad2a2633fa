// The outer part of the page: views, the address, keys, colours.
import * as api from './api.js';
import { add, configuration } from './config.js';
import { confirmLink } from './connect.js';
import { button, dialog, element, problem, replace, tag, theme } from './dom.js';
import { count, explore, focusForm, kinds } from './explore.js';
import { gateway } from './gateway.js';
import { icon } from './icons.js';
import { logs } from './logs.js';
import { menu } from './menu.js';
import { monitor } from './monitor.js';
import { network } from './network.js';
import { palette } from './palette.js';
import { questions } from './questions.js';
import { watchRoots } from './roots.js';
import { saved } from './saved.js';
import { servers } from './servers.js';
import { definitions, emit, on, start, state } from './store.js';
import { tasks } from './tasks.js';
import { timeline } from './timeline.js';
import { toast } from './toast.js';

// The views: the name in the address, the title, the function that shows it, and its key.
const groups = {
	Explore: [['servers', 'Servers', servers, '1'], ['tools', 'Tools', explore, '2'], ['resources', 'Resources', explore, '3'],
		['templates', 'Templates', explore, '4'], ['prompts', 'Prompts', explore, '5'], ['skills', 'Skills', explore, '6'], ['apps', 'Apps', explore, '7']],
	Run: [['tasks', 'Tasks', tasks, '8'], ['saved', 'Saved calls', saved, '9']],
	Observe: [['timeline', 'Timeline', timeline, 't'], ['logs', 'Logs', logs, 'l'], ['network', 'HTTP', network, 'h']],
};
let views = Object.values(groups).flat();

const $ = id => document.getElementById(id);
let current; // the view that is shown: { name, show(route), close() }

// route returns the parts of the address: #/view/part/part?name=value.
function route() {
	const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
	const [name, ...parts] = path.split('/').map(decodeURIComponent);
	return { name: name || (state.about.recording ? 'timeline' : 'servers'), parts, query: new URLSearchParams(query) };
}

function show() {
	if (location.hash.startsWith('#serverUrl=')) {
		const query = new URLSearchParams(location.hash.slice(1));
		history.replaceState(null, '', '#/servers'); // a page that is reloaded does not ask again
		confirmLink(query);
	}
	const at = route();
	const found = views.find(([name]) => name === at.name) ?? views[0];
	for (const a of $('views').querySelectorAll('a')) a.ariaCurrent = a.dataset.view === found[0] ? 'page' : null;
	document.title = `${found[1]} · ${state.about.title} · stdwire`;
	if (current?.name !== found[0]) {
		current?.close?.();
		replace($('main'));
		$('main').scrollTop = 0;
		current = { name: found[0], ...found[2]($('main'), found[0]) };
	}
	document.body.dataset.view = found[0];
	current.show?.(at);
	showChanged();
}

// showChanged marks the views whose lists have changed since they were open.
function showChanged() {
	state.changedLists.delete(current?.name);
	if (current?.name === 'tools') state.changedLists.delete('apps'); // they are among the tools
	for (const a of $('views').querySelectorAll('a')) {
		a.querySelector('.changed')?.remove();
		if (state.changedLists.has(a.dataset.view)) a.querySelector('.count').before(tag('span.changed', ' changed '));
	}
}

function showCounts() {
	const counts = { servers: state.servers.length, tasks: state.calls.filter(call => call.task && call.running).length,
		...Object.fromEntries(Object.keys(kinds).map(view => [view, count(view)])) };
	for (const [name, n] of Object.entries(counts)) $('views').querySelector(`a[data-view=${name}] .count`).textContent = n ? n.toLocaleString() : '';
	$('ask').hidden = state.questions.length === 0;
	replace($('ask'), icon('questions'), tag('span.count', state.questions.length));
	$('ask').ariaLabel = `Questions of servers: ${state.questions.length}`;
}

const chosen = document.documentElement.dataset;

function set(name, value) {
	chosen[name] = value;
	localStorage.setItem(`stdwire ${name}`, value);
	$('density').ariaPressed = Boolean(chosen.density);
	emit(name);
}

const otherDensity = () => set('density', chosen.density ? '' : 'compact');
const otherTheme = () => set('theme', theme() === 'dark' ? 'light' : 'dark');

const keys = () => [
	['Ctrl K', 'search everything'],
	[views.map(view => view[3]).join(' '), 'show a view, in their order'], ['/', 'search or filter; Enter opens the best'], ['j, k or arrows', 'move in a list'], ['Enter', 'open what is selected'], ['i', 'go to its form'],
	['Ctrl Enter', 'run the tool, send the answer'], ['Escape', 'close; cancel the call'], ['q', 'go to the questions'],
	['+, −, 0', 'timeline: zoom, or show all'], ['f', 'timeline: follow the latest message'], ['m', 'latest messages beside the view'], ['d', 'dark or light'], ['c', 'compact or comfortable rows'], ['?', 'these keys'],
];

function showKeys() {
	const shown = dialog('Keys', { class: null },
		tag('table', keys().map(([key, what]) => tag('tr', element('th', { scope: 'row' }, key), tag('td', what)))),
		button('Close', () => shown.close()));
}

const search = () => palette([...views.map(([name, text]) => ({ sign: name, text, more: 'view', act: () => { location.hash = `#/${name}`; } })),
	...[['messages', 'Latest messages beside the view', () => $('watch').click()], ['density', 'Compact or comfortable rows', otherDensity],
		['theme', 'Dark or light', otherTheme], ['keys', 'Keys', showKeys], canAdd && ['servers', 'Add server', add]].filter(Boolean).map(([sign, text, act]) => ({ sign, text, more: 'command', act }))]);

let showQuestions; // see questions
let canAdd = false; // servers

function onKey(event) {
	if ((event.ctrlKey || event.metaKey) && event.key === 'k' && !document.querySelector('dialog[open]')) {
		event.preventDefault();
		search();
		return;
	}
	const typing = event.target.closest('input, textarea, select, [contenteditable]');
	if (event.repeat && event.key === 'Enter' && (event.ctrlKey || !typing)) event.preventDefault();
	if (event.isComposing || event.defaultPrevented || event.altKey || event.metaKey || document.querySelector('dialog[open]')) return;
	if (event.ctrlKey) {
		if (event.key === 'Enter') $('main').querySelector('.detail .primary')?.click();
		return;
	}
	if (typing) {
		if (event.key === 'Escape') event.target.blur();
		return;
	}
	const view = views.find(view => view[3] === event.key);
	if (view) location.hash = `#/${view[0]}`;
	else if (event.key === '/') $('main').querySelector('input[type=search]')?.focus();
	else if (event.key === 'd') otherTheme();
	else if (event.key === 'c') otherDensity();
	else if (event.key === '?') showKeys();
	else if (event.key === 'm') $('watch').click();
	else if (event.key === 'i') focusForm($('main'));
	else if (event.key === 'q') showQuestions(true);
	else if (!current?.key?.(event)) return;
	event.preventDefault();
}

async function main() {
	for (const name of ['theme', 'density']) set(name, localStorage.getItem(`stdwire ${name}`) ?? '');
	for (const name of ['mark', 'watch', 'density', 'theme', 'keys']) replace($(name), icon(name === 'watch' ? 'messages' : name));
	$('theme').onclick = otherTheme;
	$('density').onclick = otherDensity;
	$('keys').onclick = showKeys;
	$('find').prepend(icon('search'));
	$('find').onclick = search;
	$('ask').onclick = () => showQuestions($('questions').hidden);
	$('skip').onclick = event => {
		event.preventDefault();
		$('main').focus();
	};
	try {
		await api.open();
		await start();
	} catch (error) {
		replace($('main'), problem(error));
		document.body.dataset.ready = 'refused';
		return;
	}
	if (state.about.gateway) {
		groups.Observe.unshift(['gateway', 'Gateway', gateway, 'g']);
		views = Object.values(groups).flat();
	}
	replace($('views'), Object.entries(groups).map(([title, list]) => element('div', { role: 'group', label: title },
		element('p.label', { 'aria-hidden': 'true' }, title),
		list.map(([name, text]) => element('a', { href: `#/${name}`, 'data-view': name, title: text }, icon(name), tag('span.word', text), tag('span.count'))))),
	element('button.more', { title: 'All views, and search', onclick: search }, icon('more'), tag('span.word', 'More')));
	configuration().then(({ files, off }) => {
		canAdd = !off;
		replace($('about'), menu('What this page looks at', async () => {
			const { gateways, other } = await api.get('pages');
			const to = (text, pid) => [text, () => api.post('pages', { pid }).then(({ address }) => location.assign(address), error => toast(error.message))];
			const running = Object.entries(gateways).filter(([name]) => name !== state.about.title);
			return [...files.map(file => file.path), off ? !state.about.gateway && off : ['Add server', add], other && state.about.gateway && to('Look at the configuration', 0),
				...running.map(([name, pid]) => to(`Look at ${name}`, pid)), other && !state.about.gateway && running.length === 0 && 'No gateway runs'];
		}, { text: state.about.title, attributes: { class: 'quiet' } }));
	});
	on('connected', () => {
		$('status').textContent = state.connected ? '' : state.refused ? state.refused.message : 'stdwire web does not answer';
	});
	showQuestions = questions($('questions'));
	watchRoots();
	const watch = monitor($('monitor'), $('watch'));
	$('watch').onclick = () => localStorage.setItem('stdwire monitor', watch() ? 'on' : 'off');
	const kept = () => localStorage.getItem('stdwire monitor');
	const wide = matchMedia('(min-width: 100em)');
	wide.onchange = () => { if (wide.matches && $('monitor').hidden && !kept()) watch(true); };
	if (kept() === 'on') watch();
	else wide.onchange();
	on('lists', showChanged);
	for (const topic of ['servers', 'calls', 'questions', 'counts']) on(topic, showCounts);
	showCounts();
	const [only, ...others] = state.servers;
	if (only?.state === 'stopped' && !only.ran && others.length === 0) definitions(only.id).catch(() => {}); // its card says why
	addEventListener('hashchange', show);
	addEventListener('keydown', onKey);
	show();
	document.body.dataset.ready = 'yes';
}

main();
