// The search over everything: views, commands, servers, definitions and messages.
import * as api from './api.js';
import { element, newID, replace, short, status, tag } from './dom.js';
import { enter, key, kinds, named } from './explore.js';
import { icon } from './icons.js';
import { search } from './rank.js';
import { definitions, state } from './store.js';

const most = 50; // rows

// texts returns what of a row is searched, see search.
const texts = row => row.texts ??= [`${row.text} ${row.more ?? ''}`.toLowerCase(), row.text.toLowerCase()];

// palette opens the search. Each row of given has an icon, a text, and what it does.
export function palette(given) {
	const id = newID();
	let rows = [...given.map(row => ({ ...row, first: true })),
		...state.servers.map(server => ({ sign: 'servers', text: server.id, more: server.state, first: true, act: () => { location.hash = api.address('servers', server.id); } }))];
	let shown = [];
	let at = 0;
	let kept; // the row that the user has moved to
	let asked = false; // for the lists of the servers
	const list = element('ul.items', { role: 'listbox', id, label: 'Found' });
	const count = status('p.hide');
	const input = element('input', { type: 'search', role: 'combobox', label: 'Search everything', 'aria-expanded': 'true', 'aria-controls': id, 'aria-autocomplete': 'list',
		placeholder: 'Servers, tools, resources, messages, commands', oninput: () => {
			kept = undefined;
			ask();
			update();
		} });
	const messages = { sign: 'timeline',
		act: () => { location.hash = api.filtered(input.value.trim().split(/\s+/).map(word => `text:${word}`).join(' ')); } };
	const dialog = element('dialog.palette', { label: 'Search everything', onclose: () => dialog.remove(), onclick: event => { if (event.target === dialog) dialog.close(); } }, input, list, count);

	function update() {
		const text = input.value.trim();
		messages.text = `Messages with “${text}”`;
		shown = text ? [...search(rows, text, texts).slice(0, most), messages] : rows.filter(row => row.first);
		at = Math.max(shown.indexOf(kept), 0);
		count.textContent = `${shown.length} found`;
		replace(list, shown.map((row, i) => element('li', { role: 'option', id: `${id}-${i}`, 'aria-selected': String(i === at), onclick: () => choose(row) },
			icon(row.sign), tag('span.name', row.text), tag('span.muted.line', row.more ?? ''))));
		input.setAttribute('aria-activedescendant', `${id}-${at}`);
	}

	function choose(row) {
		dialog.close();
		row?.act();
	}

	dialog.addEventListener('keydown', event => {
		if (event.isComposing) return;
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === 'Escape') dialog.close(); // at once, where a search field would first be emptied
		else if (event.key === 'Enter') choose(shown[at]);
		else if (step) {
			at = (at + step + shown.length) % shown.length;
			kept = shown[at];
			for (const [i, option] of [...list.children].entries()) option.ariaSelected = i === at;
			input.setAttribute('aria-activedescendant', `${id}-${at}`);
			list.children[at]?.scrollIntoView({ block: 'nearest' });
		} else return;
		event.preventDefault();
	});
	document.body.append(dialog);
	dialog.showModal();
	update();

	// ask adds the definitions of the servers that run, once.
	function ask() {
		if (asked) return;
		asked = true;
		for (const server of state.servers.filter(server => server.state === 'ready' && !server.watched)) {
			definitions(server.id).then(({ lists }) => {
				for (const [view, kind] of Object.entries(kinds)) {
					if (view === 'apps') continue; // they are tools
					rows = rows.concat((lists[kind] ?? []).map(({ definition }) => {
						const d = named(definition);
						const name = key(d, kind);
						return { sign: view, text: short(d.title ?? d.name ?? name), more: [server.id, name, d.description].filter(Boolean).map(short).join(' · '),
							act: () => enter(view, server.id, name) };
					}));
				}
				if (dialog.open && input.value) update();
			}, () => { /* its views say why */ });
		}
	}
}
