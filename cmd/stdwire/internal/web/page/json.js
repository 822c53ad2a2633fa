// JSON. Numbers that JavaScript cannot represent keep their text. Large values are shown in parts.
import { button, div, element, faint, folded, grid, li, long, muted, p, parts, replace, short, tag } from './dom.js';
import { menu } from './menu.js';
import { toast } from './toast.js';

// parse is JSON.parse, except that a number that JavaScript would write differently keeps its text.
export function parse(text) {
	return JSON.parse(text, (_, value, context) => typeof value === 'number' && context?.source !== undefined &&
		JSON.rawJSON && String(value) !== context.source && !Number.isSafeInteger(value)
		? JSON.rawJSON(context.source) : value);
}

export const isRaw = value => JSON.isRawJSON?.(value) ?? false;

export const format = value => JSON.stringify(value, null, 2) ?? '';

const scalar = value => value === null || typeof value !== 'object' || isRaw(value);

// Room is how many entries are shown at first, of all trees that share it.
export class Room {
	left = 1_000;
}

function scalarNode(value) {
	const text = isRaw(value) ? value.rawJSON : JSON.stringify(value);
	const kind = value === null ? 'null' : isRaw(value) ? 'number' : typeof value;
	if (text.length <= 2000) return element('span', { class: 'json-' + kind }, text);
	const node = element('span', { class: 'json-' + kind }, text.slice(0, 2000) + '…');
	const more = button(`${text.length.toLocaleString()} characters`, () => {
		node.textContent = text;
		more.remove();
	});
	return tag('span', node, ' ', more);
}

const places = new WeakMap(); // row of a tree → its path, a JSON Pointer, and its value

// copying gives a tree a button that copies the path or value of the row under the pointer, or to which the
// arrow keys move it.
function copying(node) {
	let at;
	const copy = text => navigator.clipboard.writeText(text).then(() => toast('Copied'), error => toast(error.message));
	const [opener, list] = menu('Copy', () => {
		const [path, value] = places.get(at);
		return [path, ['Copy the path', () => copy(path)], ['Copy the value', () => copy(typeof value === 'string' ? value : format(value))]];
	}, { sign: 'copy', attributes: { class: 'icon-only copy' } });
	const move = row => {
		if (!places.has(row) || row === at || list.matches(':popover-open')) return;
		at = row;
		opener.title = opener.ariaLabel = `Copy the path or value of ${places.get(row)[0]}`;
		row.append(opener, list);
	};
	node.addEventListener('pointerover', event => { if (document.activeElement !== opener) move(event.target.closest('li')); });
	node.addEventListener('keydown', event => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (!step || event.target !== opener) return;
		event.preventDefault();
		event.stopPropagation();
		const rows = [...node.querySelectorAll('li')].filter(row => places.has(row) && row.checkVisibility());
		move(rows[rows.indexOf(at) + step]);
		opener.focus();
	});
	move(node.firstElementChild);
}

// tree returns a value as a tree. The nodes of a branch are created when it is opened. Trees that are
// shown together share room.
export function tree(value, depth = 0, room = new Room(), path = '') {
	if (scalar(value)) return scalarNode(value);
	const entries = Array.isArray(value) ? value.map((item, i) => [i, item]) : Object.entries(value);
	const node = parts(tag('ul.tree'), entries, ([key, item]) => {
		const name = tag('span.json-key', short(String(key)), ': ');
		const at = `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
		room.left--;
		const row = li(scalar(item) ? [name, scalarNode(item)] : branch(name, item, depth + 1, room, at));
		places.set(row, [at, item]);
		return row;
	});
	if (path === '') copying(node);
	return node;
}

function branch(name, value, depth, room, path) {
	const size = Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
	const open = depth < 3 && room.left > 0 && JSON.stringify(value).length < 2000;
	const node = element('details', { open }, tag('summary', name, faint(size)));
	const fill = () => { if (node.childElementCount < 2) node.append(tree(value, depth, open ? room : undefined, path)); };
	if (open) fill();
	node.addEventListener('toggle', fill);
	return node;
}

const isTable = value => Array.isArray(value) && value.length > 0 &&
	value.every(row => !scalar(row) && !Array.isArray(row));

export function table(rows, room = new Room()) {
	const cell = (value, path) => value === undefined ? '' : scalar(value) ? scalarNode(value) : room.left > 0 ? tree(value, 0, room, path) : branch('', value, 3, room, path);
	const names = [...new Set(rows.slice(0, 1000).flatMap(row => Object.keys(row)))].slice(0, 50);
	const rest = p();
	const body = parts(tag('tbody'), rows, row => tag('tr', names.map(name => tag('td', cell(row[name], `/${name}`)))), rest);
	return grid('Table', names.map(short), body, rest);
}

// tableIn returns the array of objects that a value is, or has beside nothing but numbers and the like,
// which it adds to beside.
function tableIn(value, beside, depth = 0) {
	if (isTable(value)) return value;
	if (scalar(value) || Array.isArray(value) || depth > 2) return null;
	const [one = null, ...others] = Object.values(value).filter(member => !scalar(member) || typeof member === 'string');
	for (const [name, member] of Object.entries(value)) if (scalar(member) && member !== null) beside.push(`${name}: ${member}`);
	return others.length === 0 ? tableIn(one, beside, depth + 1) : null;
}

export function view(value, room) {
	const place = div();
	const kinds = [['tree', 'Tree'], ['text', 'Text']];
	const beside = [];
	const rows = tableIn(value, beside);
	if (rows) kinds.unshift(['table', 'Table']);
	const show = kind => replace(place, kind === 'table' ? [muted(beside.join(' · ')), table(rows, room)] : kind === 'tree' ? tree(value, 0, room) : long(format(value)));
	show(kinds[0][0]);
	return div(tabs(kinds, kinds[0][0], show, 'How to show it'), place);
}

export function tabs(kinds, chosen, show, label) {
	const group = element('div.tabs', { role: 'group', label });
	for (const [kind, text] of kinds) {
		group.append(button(text, event => {
			for (const other of group.children) other.ariaPressed = other === event.currentTarget;
			show(kind);
		}, { 'aria-pressed': String(kind === chosen), 'data-kind': kind }));
	}
	return group;
}

// diff returns the differences that the API found: the spans that differ, with invisible and
// deceptive characters spelled out, and the whole values.
export function diff(lines) {
	if (!lines?.length) return muted('There are no differences.');
	return parts(tag('dl.diff'), lines, line => [
		tag('dt', line.path || '(all of it)'),
		side('old', '− ', line.old, line.oldText),
		side('new', '+ ', line.new, line.newText),
	]);
}

function side(name, sign, value, spans) {
	if (value === undefined) return '';
	const whole = visible(format(value));
	return element('dd', { class: name }, tag('span.sign', sign), spans ?? whole,
		spans?.includes('…') && folded('All of it', whole));
}

// visible spells out invisible characters, and white space that is no space or line end.
const visible = text => text.replace(/[^\S\n ]|\p{C}|\p{Zl}|\p{Zp}|\p{Variation_Selector}|[\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u034f]/gu,
	c => c === '\n' ? c : `\\u{${c.codePointAt(0).toString(16)}}`);
