// The configuration files: the user adds, changes, copies, moves, removes and imports servers, and
// sees each change before it is written. The page has "…1" and so on in place of secrets.
import * as api from './api.js';
import { attempt, button, code, dialog, div, download, element, faint, field, hint, input, inRow, muted, p, replace, select, status, tag } from './dom.js';
import { sources } from './first.js';
import { form } from './form.js';

let known;

// configuration returns the files that can be changed, and the JSON Schemas of a server's members:
// { off, files, settings }.
export const configuration = async () => { known ??= await api.get('config'); return known; };

// suited returns the properties that a form can edit. A setting whose type an application has
// changed is edited as JSON.
const suited = (value, all) => ({ type: 'object', additionalProperties: true, properties: Object.fromEntries(Object.entries(all)
	.filter(([name, { type }]) => !(name in value) || !type || type === 'integer' || type === (Array.isArray(value[name]) ? 'array' : typeof value[name]))
	.map(([name, setting]) => [name, setting.properties ? { ...setting, ...suited(value[name] ?? {}, setting.properties) } : setting])) });

// groups fold members of a server that it does not have: those of formfields.go.
const groups = [['Program', ['command', 'args', 'env', 'cwd']], ['URL and authorization', ['url', 'headers', 'oauth']],
	['Era, timeouts and tools', ['era', 'startTimeoutMs', 'callTimeoutMs', 'disabled', 'tools']]];

export const base = path => path.split(/[\\/]/).at(-1);

// change opens a dialog in which the user makes a change, sees its diff and writes it. wanted returns the
// change, label what the button says for a file; done is called when it is written.
function change(title, content, wanted, label, { bad, done } = {}) {
	const outcome = status();
	const place = tag('span');
	let latest = 0; // what was shown before is out of date
	let timer;
	const show = () => attempt(outcome, async () => {
		const mine = ++latest;
		const what = wanted();
		let next;
		try {
			next = await api.post('config/change', what);
		} catch (error) {
			if (mine === latest) throw error;
		}
		if (mine !== latest) return;
		const write = () => attempt(outcome, async () => {
			await api.post('config/change', { ...what, digest: next.digest, write: true });
			shown.close();
			done?.(what);
		});
		replace(outcome, next.notes.map(note => tag('p.warn', note)),
			next.diff === '' ? p('Nothing changes.') : [
				element('pre.code', { tabindex: '0', label: 'What changes' }, next.diff.trimEnd().split('\n').map(line => element('span', {
					class: line.startsWith('+') ? 'new' : line.startsWith('-') ? 'old' : '' }, line + '\n'))),
				next.diff.includes('…') && hint('“…” stands for values that may be secret. The file keeps them.')]);
		replace(place, next.diff !== '' && button(label(base(what.file)), write, { class: bad ? 'primary bad' : 'primary' }));
	});
	// soon shows the change when the user pauses.
	const soon = () => {
		latest++;
		replace(outcome);
		replace(place);
		clearTimeout(timer);
		timer = setTimeout(show, 300);
	};
	const shown = dialog(title, { test: 'change', oninput: soon, onclose: () => {
		clearTimeout(timer);
		shown.remove();
	} }, content, outcome, inRow(place, button('Cancel', () => shown.close())));
	show();
	return soon;
}

const fileField = (files, chosen, onchange) => field('File', select(files.map(file => [file.path,
	file.project ? `${file.path} (of the project: must be trusted)` : file.path]), chosen, onchange));

const nameField = value => input('text', { value, maxlength: '32', required: true });

export function add() {
	const close = () => shown.close();
	const shown = dialog('Add a server', { test: 'add' }, sources(async picked => {
		await review(picked);
		close();
	}), inRow(button('Cancel', close)));
	addEventListener('hashchange', close, { once: true });
}

// review shows the servers that the user has picked, and adds them to a file. done gets the name of
// one that the user has typed.
export async function review(picked, done = () => {}) {
	const { files, settings } = await configuration();
	let into = files.at(-1).path;
	const source = { into, name: '', text: '', ...picked };
	const found = await api.post('config/import', source);
	if (found.length === 0) throw new api.Problem({ message: 'There are no servers in it.' });
	const file = files.length > 1 && fileField(files, into, to => { into = to; });
	if (found[0].typed) {
		const name = nameField(found[0].id);
		const inputs = form(suited({}, settings), { groups, value: JSON.parse(found[0].definition), name: 'Definition', changed: () => soon() });
		const soon = change('Add a server', [field('Name', name), file, inputs.node],
			() => ({ file: into, server: name.value, definition: inputs.text() }), to => `Add to ${to}`, { done: () => done(name.value) });
		return;
	}
	const again = input('checkbox');
	const chosen = found.map(server => [server, input('checkbox', { checked: !server.problem && (picked.servers?.includes(server.id) ?? true), disabled: server.problem })]);
	const ids = () => chosen.filter(([, box]) => box.checked).map(([server]) => server.id);
	change('Add servers', [file, chosen.map(([server, box]) => div(tag('label', box, ` ${server.id} `,
		faint(server.kind)), server.problem && tag('p.bad', server.problem),
	server.notes.map(note => hint(note)), server.definition && code(server.definition))),
	tag('label.row', again, 'Replace servers that have the same name')],
	() => ({ file: into, import: { ...source, replace: again.checked, servers: ids() } }), to => `Add ${ids().length} to ${to}`);
}

async function define(title, id, from) {
	const { settings } = await configuration();
	const defined = await api.post('config/definition', { server: from });
	const value = JSON.parse(defined.definition);
	const name = nameField(id);
	const inputs = form(suited(value, settings), { groups, value, name: 'Definition', changed: () => soon() });
	const soon = change(title, [id !== from && field('Name', name), muted(defined.file),
		defined.definition.includes('"…') && hint('“…1” and so on stand for hidden values. Leave them to keep the values, or write another value to replace one.'),
		inputs.node], () => ({ file: defined.file, digest: defined.digest, server: id === from ? id : name.value, from, definition: inputs.text() }),
	to => id === from ? `Change ${id} in ${to}` : `Add the copy to ${to}`);
}

export const edit = id => define(`Change ${id}`, id, id);
export const clone = id => define(`Copy ${id}`, `${id.slice(0, 27)}-copy`, id);

export const remove = (id, file) => change(`Remove ${id}`, muted(file), () => ({ file, server: id, remove: true }), to => `Remove from ${to}`, { bad: true });

export const move = (id, place, file) => change(`Move ${id}`, muted(file), () => ({ file, server: id, place }), to => `Move in ${to}`);

export const exporting = async () => {
	const { text } = await api.post('config/export');
	download('mcp.json', text);
};
