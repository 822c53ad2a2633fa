// Elements of the page. A server's text becomes text nodes and attributes here, never markup.

import { icon } from './icons.js';

const names = { label: 'aria-label', test: 'data-testid' };

// element returns an element; its classes may follow its name, after dots. An attribute whose name
// begins with "on" is a listener; one that is false, null or undefined is left out; label is what
// screen readers say, and test what tests look for. Children are nodes, texts, or arrays of them.
export function element(name, attributes = {}, ...children) {
	const [type, ...classes] = name.split('.');
	const node = document.createElement(type);
	if (classes.length > 0) node.className = classes.join(' ');
	for (const [key, value] of Object.entries(attributes)) {
		if ((value ?? false) === false) continue;
		if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
		else if (key === 'value' || key === 'checked' || key === 'selected') node[key] = value;
		else node.setAttribute(names[key] ?? key, value === true ? '' : value);
	}
	append(node, children);
	return node;
}

export function append(node, children) {
	for (const child of [children].flat(Infinity)) {
		if ((child ?? false) !== false) node.append(child);
	}
}

export function replace(node, ...children) {
	node.replaceChildren();
	append(node, children);
}

// tag returns an element without attributes. Texts that are less important than those around it are
// faint, muted or hints; head is a heading in a card.
export const tag = (name, ...children) => element(name, {}, children);
export const [p, strong, h2, h3, head, li, div, inRow, faint, muted, hint, code] = ['p', 'strong', 'h2', 'h3', 'h3.label', 'li', 'div', 'div.row', 'span.muted', 'p.muted',
	'p.hint', 'code'].map(name => tag.bind(null, name));

export const button = (text, onclick, attributes = {}) =>
	element('button', { onclick, ...attributes }, text);

export const primary = (text, onclick, more) => button(text, onclick, { class: 'primary', ...more });

export const folded = (title, ...children) => tag('details', tag('summary', title), children);

// unpressed returns update without effect while something in a node is pressed: the click would be lost with
// the element. After the click the node is updated.
export function unpressed(node, update) {
	node.addEventListener('click', () => setTimeout(update));
	return () => node.matches(':active') || update();
}

// status returns an element that screen readers read out when its text changes.
export const status = (name = 'div', ...children) => element(name, { role: 'status' }, children);

export const anchor = (href, ...children) => element('a', { href }, children);

export const input = (type, attributes) => element('input', { type, ...attributes });

// onEnter calls run when the user presses Ctrl-Enter in a node, and cancel, if given, for Escape.
export function onEnter(node, run, cancel) {
	node.addEventListener('keydown', event => {
		if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
			event.preventDefault();
			run();
		} else if (event.key === 'Escape') cancel?.();
	});
}

// unfolded is folded, with content that is made when it is opened for the first time.
export function unfolded(title, content) {
	const node = folded(title);
	node.addEventListener('toggle', () => { if (node.childElementCount === 1) append(node, content()); });
	return node;
}

// pairs returns terms and what they are; without a value they are left out. facts is a list of them.
export const pairs = all => all.filter(([, value]) => value).map(([term, value]) => div(tag('dt', term), tag('dd', value)));
export const facts = all => tag('dl.facts', pairs(all));

// grid returns a table that scrolls, and what stands below it.
export const grid = (label, names, body, below, kinds = []) => element('div.scroll', { tabindex: '0', role: 'region', label },
	tag('table', tag('thead', tag('tr', names.map((name, i) => element('th', { scope: 'col', class: kinds[i] }, name)))), body), below);

// figures returns a table in which each row has a name and what belongs to it. Columns without anything
// are left out.
export function figures(names, rows) {
	const shown = names.flatMap((_, i) => rows.some(row => row[i] !== '') ? [i] : []);
	const kinds = shown.map(i => rows.some(row => /^[≈–\d]/.test(row[i])) ? 'figure' : rows.some(row => row[i].length > 40) && 'wide');
	return grid(names[0], shown.map(i => names[i]), tag('tbody', rows.map(row => tag('tr', shown.map((i, at) =>
		element(at ? 'td' : 'th', { scope: !at && 'row', class: at && kinds[at] || null }, row[i]))))), null, kinds);
}

// tokens says about how many tokens of a model so many are.
export const tokens = n => `≈ ${Math.ceil(n).toLocaleString()} tokens`;

// iconButton returns a button that is an icon. label says what it does.
export const iconButton = (sign, label, onclick) => element('button', { class: 'icon-only', label, title: label, onclick }, icon(sign));

// dialog shows a dialog with a title above the page. It is removed when it is closed.
export function dialog(title, attributes, ...children) {
	const node = element('dialog', { label: title, class: 'wide', onclose: () => node.remove(), ...attributes }, h2(title), children);
	document.body.append(node);
	node.showModal();
	return node;
}

// keyed keeps an object for each item in known, by its key: makes those of new items, removes those of
// which the item has gone, and updates all.
export function keyed(known, items, key, make) {
	const wanted = new Map(items.map(item => [key(item), item]));
	for (const [name, one] of known) {
		if (wanted.has(name)) continue;
		one.close?.();
		one.node.remove();
		known.delete(name);
	}
	for (const [name, item] of wanted) {
		if (!known.has(name)) known.set(name, make(item));
		known.get(name).update(item);
	}
}

let lastID = 0;
export const newID = () => `id${++lastID}`;

const part = 100; // items that are added at a time
const longest = 20_000; // characters of a text that are shown at first

// parts appends a node for each item to a list, and returns it. Further items are added, a part at a time,
// by a button at its end or in rest.
export function parts(list, items, show, rest) {
	let shown = 0;
	const more = () => {
		append(list, items.slice(shown, shown + part).map(show));
		shown += part;
		const next = shown < items.length && button(`${items.length - shown} more`, () => {
			if (!rest) list.lastElementChild.remove();
			more();
		});
		if (rest) replace(rest, next);
		else if (next) list.append(tag({ UL: 'li', OL: 'li', DL: 'dd' }[list.tagName] ?? 'div', next));
	};
	more();
	return list;
}

// short returns the beginning of a text for a place where there is no room for a long one.
export const short = text => text.length > 500 ? `${text.slice(0, 500)}…` : text;

// long returns an element with a text, of which only the beginning is shown at first.
export function long(text, attributes = {}) {
	const node = element('pre', attributes, text.slice(0, longest));
	if (text.length <= longest) return node;
	const more = button(`Show all of ${text.length.toLocaleString()} characters`, () => {
		node.textContent = text;
		more.remove();
	});
	return div(node, more);
}

// empty says that a view has nothing to show: what it would show, and the view in which to go on.
export const empty = (title, why, view) => tag('div.empty', h3(title), p(why), element('a.button', { href: `#/${view.toLowerCase()}` }, view));

export function field(text, control, ...rest) {
	control.id ||= newID();
	return tag('div.field', element('label', { for: control.id }, text), control, rest);
}

// select returns a list to choose from. Options are [value, text] or values.
export function select(options, value, onchange, attributes = {}) {
	return element('select', { onchange: event => onchange(event.target.value), ...attributes },
		options.map(option => {
			const [key, text] = Array.isArray(option) ? option : [option, option];
			return element('option', { value: key, selected: key === value }, text);
		}));
}

// link returns a link to another site if the scheme is http or https, and otherwise the text alone.
export function link(url, text = url) {
	let safe = false;
	try {
		safe = ['http:', 'https:'].includes(new URL(url).protocol);
	} catch { /* it is no URL */ }
	return safe
		? element('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, text)
		: document.createTextNode(text);
}

// problem returns an error as the page shows it.
export function problem(error) {
	const data = error.data !== undefined && long(JSON.stringify(error.data, null, 2));
	return element('div.problem', { role: 'alert', 'data-rpc': error.rpc },
		error.rpc_name ? p(strong(`${error.rpc_name} `), tag('span.badge.bad', `JSON-RPC error ${error.rpc}`))
			: strong(error.code && error.code !== 'refused' ? error.code + ': ' : ''), error.message,
		error.facts && facts(error.facts),
		error.rpc_message && p(`The server says: ${error.rpc_message}`),
		[error.advice, error.hint].filter(Boolean).map(text => tag('p.hint', text)),
		data && (error.facts ? folded('data', data) : data),
		error.stderr && !error.message.includes(error.stderr.trim()) && tag('pre', error.stderr));
}

// attempt runs an action. It shows an error in place until another action succeeds.
export async function attempt(place, action) {
	try {
		const value = await action();
		place.querySelector(':scope > .problem')?.remove();
		return value;
	} catch (error) {
		replace(place, problem(error));
		return undefined;
	}
}

export function download(name, content) {
	const url = URL.createObjectURL(new Blob([content], { type: content.type }));
	const a = element('a', { href: url, download: name });
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const theme = () => document.documentElement.dataset.theme ||
	(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

// copyIcon returns a button that copies a text. Its name says what it copies.
export const copyIcon = (text, name = 'Copy') => iconButton('copy', name, async ({ currentTarget }) => {
	await navigator.clipboard.writeText(typeof text === 'function' ? text() : text);
	replace(currentTarget, status('span', '✓'));
	setTimeout(() => replace(currentTarget, icon('copy')), 1500);
});

export const many = (n, word) => `${n.toLocaleString()} ${word}${n === 1 ? '' : 's'}`;

export const capital = word => word[0].toUpperCase() + word.slice(1);

export const date = t => new Date(t).toLocaleString();
export const clock = t => new Date(t).toLocaleTimeString();

export const bytes = n => n < 1024 ? `${n} B` : n < 1 << 20 ? `${(n / 1024).toFixed(1)} KiB`
	: `${(n / (1 << 20)).toFixed(1)} MiB`;

export const duration = ms => ms === undefined ? '' : ms < 1 ? `${ms.toFixed(2)} ms`
	: ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`;
