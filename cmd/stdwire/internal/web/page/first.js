// Where servers come from: a box that takes a command line, a URL or JSON, the files of other
// applications, and an example. The page shows it when there are no servers.
import * as api from './api.js';
import { attempt, button, div, element, faint, h2, h3, input, inRow, li, many, muted, replace, short, status, strong, tag } from './dom.js';
import { icon } from './icons.js';

// sources returns the box and the list. pick gets { text, name } or { application, servers }; what it
// throws is shown below the box.
export function sources(pick) {
	const outcome = status();
	const list = tag('ul.card.sources');
	const text = element('textarea', { rows: '2', label: 'Command line, URL or JSON', placeholder: 'A command line, a URL or JSON',
		onkeydown: event => {
			if (event.key !== 'Enter' || event.shiftKey || event.isComposing || text.value.trim().startsWith('{') && !event.ctrlKey) return;
			event.preventDefault();
			connect();
		} });
	const connect = name => attempt(outcome, () => pick({ text: text.value, name: typeof name === 'string' ? name : 'the text' }));
	const read = file => attempt(outcome, async () => {
		if (!file) return;
		if (/\.mcpb$/i.test(file.name)) throw new api.Problem({ message: 'A browser does not say where a bundle is.', hint: 'Type its path, such as ./server.mcpb, into the box.' });
		text.value = await file.text();
		await connect(file.name);
	});
	const upload = input('file', { hidden: true, label: 'A file, such as mcp.json or server.json', onchange: () => read(upload.files[0]) });
	const box = element('div.box', { ondragover: event => event.dataTransfer.types.includes('Files') && event.preventDefault(), ondrop: event => {
		const [file] = event.dataTransfer.files;
		if (!file) return;
		event.preventDefault();
		read(file);
	} }, text, inRow(tag('span.label', 'Such as'),
		['npx …', 'https://…', '{ … }'].map(one => tag('code.badge', one)), button('or a file', () => upload.click(), { class: 'quiet' }), upload,
		button('Connect', connect, { class: 'primary push' })));
	const row = (sign, title, words, more, act) => li(icon(sign), div(strong(title), ' ', faint(words),
		more && tag('code.muted.line', more)), act);
	const example = row('play', 'Example server', 'of stdwire: it reads the files of this directory', '', button('Try it', () => attempt(outcome, async () => {
		const { id } = await api.post('connect', { example: true });
		location.hash = api.address('tools', id);
	})));
	replace(list, example);
	attempt(outcome, async () => {
		for (const { title, path, servers } of (await api.get('config/found')).toReversed()) {
			list.prepend(row('computer', title, `${many(servers.length, 'server')}: ${short(servers.join(', '))}`, path,
				button(`Import ${servers.length}`, () => attempt(outcome, () => pick({ application: path, servers })), { label: `Import ${servers.length} of ${title}` })));
		}
	});
	return tag('div.stack', box, outcome,
		tag('div.ends', h3('Found on this computer'), tag('span.label', 'Only read. Nothing was started.')), list);
}

export const firstRun = pick => tag('div.first', h2('Connect to a server'),
	sources(pick),
	tag('div.trio', [['tools', 'Call any tool', 'A form from its schema, the result as a table, tree or picture.'],
		['timeline', 'See every message', 'Both directions, all servers on one clock, filtered as you type.'],
		['pin', 'Know what changed', 'What differs from a pinned definition waits until you accept it.']]
		.map(([sign, title, words]) => muted(icon(sign), strong(title), words))));
