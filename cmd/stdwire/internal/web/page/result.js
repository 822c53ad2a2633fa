// Results of calls: content of every kind, as text or as an element that cannot run scripts.
import * as api from './api.js';
import { answer } from './calls.js';
import { anchor, attempt, button, bytes, copyIcon, div, download, duration, element, faint, folded, head, inRow, li, long, muted, p, parts, problem, replace, short, status, strong, tag, tokens, unfolded } from './dom.js';
import { icon } from './icons.js';
import { Room, format, parse, tabs, tree, view } from './json.js';
import { markdown } from './markdown.js';

function decoded(base64, type) {
	const text = atob(base64);
	const data = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++) data[i] = text.charCodeAt(i);
	return new Blob([data], { type });
}

const imageTypes = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml|x-icon)$/; // as an image, SVG has no script
const soundTypes = /^(audio|video)\/[a-z0-9.+-]+$/;

function binary(base64, type, name) {
	let blob;
	try {
		blob = decoded(base64, imageTypes.test(type) || soundTypes.test(type) ? type : 'application/octet-stream');
	} catch {
		return problem({ code: 'invalid', message: `The data of type ${type} is not base64.` });
	}
	const save = button('Save', () => download(name ?? (type === 'application/pdf' ? 'result.pdf' : 'result'), blob));
	const what = muted(`${type || 'unknown type'}, ${bytes(blob.size)} `, save);
	const url = () => URL.createObjectURL(blob);
	if (imageTypes.test(type)) return tag('figure', element('img', { src: url(), alt: `Image of type ${type}` }), what);
	const [, medium] = /^(audio|video)\//.exec(type) ?? [];
	if (medium) return tag('figure', element(medium, { src: url(), controls: true }), what);
	if (/^text\/html\b/.test(type)) return div(html(new TextDecoder().decode(Uint8Array.from(atob(base64), c => c.charCodeAt(0)))), what);
	if (type === 'application/pdf') what.append(' Save the file to view it: the security policy of this page does not allow the PDF viewer.');
	return what;
}

// html shows HTML as text, or, after a click, in a frame of the sandbox that runs no scripts and loads
// nothing from other servers.
function html(text) {
	const place = div();
	const show = () => attempt(place, async () => {
		const { address } = await api.post('previews', { html: text });
		replace(place, element('iframe.app.app-border', { title: 'Preview', sandbox: '', src: address }));
	});
	return div(button('Preview', show, { title: 'Without scripts, and without files of other servers' }), place, long(text, { class: 'text' }));
}

// textBlock shows JSON as a value while the values that are shown together have room.
function textBlock(text, room) {
	const start = text.trimStart()[0];
	if ((start === '{' || start === '[') && text.length < 2_000_000 && room.left > 0) {
		room.left -= text.length / 1000;
		try {
			return view(parse(text), room);
		} catch { /* it is text */ }
	}
	if (!/^#{1,6} |^```|\*\*\S|\]\(https?:/m.test(text)) return long(text, { class: 'text' });
	const place = div();
	const show = kind => replace(place, kind === 'text' ? long(text, { class: 'text' }) : markdown(text));
	show();
	return div(tabs([['markdown', 'Formatted'], ['text', 'Plain']], 'markdown', show, 'How to show the text'), place);
}

export function resource(content, server, room = new Room()) {
	return tag('div.resource', p(anchor(readLink(server, content.uri), content.uri),
		' ', faint(content.mimeType ?? '')),
	content.blob !== undefined ? binary(content.blob, content.mimeType ?? '', content.uri?.split('/').pop()) : /^text\/html\b/.test(content.mimeType) ? html(content.text ?? '') : textBlock(content.text ?? '', room));
}

const readLink = (server, uri) => api.address('resources', server, uri);

export function content(block, server, room = new Room()) {
	switch (block?.type) {
		case 'text': return textBlock(String(block.text), room);
		case 'image': case 'audio': return binary(String(block.data), String(block.mimeType));
		case 'resource': return resource(block.resource ?? {}, server, room);
		case 'resource_link': return p(anchor(readLink(server, block.uri), block.title ?? block.name ?? block.uri),
			' ', faint([block.mimeType, block.size !== undefined && bytes(block.size)].filter(Boolean).join(', ')),
			block.description && tag('span.hint', ' ' + block.description));
		default: return tree(block, 0, room);
	}
}

function list(items, show) {
	const room = new Room();
	return parts(tag('ol.blocks'), items, item => li(show(item, room)));
}

// rest says that a gateway has shortened a result, and reads on: always from the resource of its link,
// whatever else the server says.
function rest({ content, structuredContent }, server) {
	const link = content?.find(block => block?.type === 'resource_link' && /^stdwire-result:[^?#]+$/.test(block.uri));
	if (!link) return undefined;
	const note = structuredContent?.['stdwire/preview']?.readOn?.arguments;
	let { pointer, offset } = note ?? {};
	if (!note) { // then the text says where to read on
		try {
			({ pointer, offset } = JSON.parse(/ with (\{.*\})\.\]$/.exec(content[content.indexOf(link) - 1].text)[1]));
		} catch { /* from the beginning of what was shortened most */ }
	}
	const outcome = div();
	const read = uri => answer(server, 'resources/read', { uri }).then(({ contents: [whole] }) => whole);
	const more = button('Read on', () => attempt(outcome, async () => {
		const query = Object.entries({ pointer, offset: Number(offset) || 0 }).filter(([, value]) => value !== undefined);
		const part = await read(`${link.uri}?${new URLSearchParams(query)}`);
		const range = part._meta['stdwire/range'];
		offset = range.next;
		more.hidden = offset === undefined;
		shown.append(p(strong(`${range.unit} ${range.offset + 1} to ${range.offset + range.count} of ${range.total}`), more.hidden && ', the last'), textBlock(part.text, new Room()));
	}));
	const save = button('Save all', () => attempt(outcome, async () => download('result.json', (await read(link.uri)).text)), { class: 'quiet' });
	const shown = div();
	return element('section', { label: 'The rest' }, tag('div.note', icon('warning'), `The gateway has shortened the result: all of it has ${bytes(link.size)}.`), shown, inRow(more, save), outcome);
}

const blocks = (all, server) => list(all, (block, room) => [content(block, server, room),
	block?.annotations && muted(short(JSON.stringify(block.annotations)))]);

export const messages = (all, server) => list(all, (message, room) => [strong(message.role),
	parts(div(), [message.content].flat(), block => content(block, server, room))]);

// repeats reports whether the content is the JSON of the structured content, for clients that know no other.
function repeats({ content: [block, ...more], structuredContent }) {
	try {
		return block.type === 'text' && more.length === 0 && block.text.length < 2_000_000 && format(parse(block.text)) === format(structuredContent);
	} catch { // it is no JSON
		return false;
	}
}

export function result(call) {
	const server = call.request.server;
	const shown = [];
	const failed = call.error !== undefined || call.result?.isError === true;
	shown.push(element('p', { class: failed ? 'outcome bad' : 'outcome good' },
		failed ? (call.error ? 'The call failed' : 'The tool reports an error') : 'Done', faint(` after ${duration(call.ms)}${call.size ? `, ${bytes(call.size)}, ${tokens(call.size / 4)}` : ''}`)));
	if (call.error) shown.push(problem(call.error));
	if (call.mismatch) shown.push(element('div.problem', { role: 'alert' }, strong('The result does not match the outputSchema: '), call.mismatch));
	const value = call.result;
	if (value !== undefined) {
		if (value.structuredContent !== undefined) shown.push(head('Structured content'), view(value.structuredContent));
		if (Array.isArray(value.content)) {
			const show = () => value.content.length === 0 ? muted('none') : blocks(value.content, server);
			shown.push(repeats(value) ? unfolded('Content: the same as text', show) : [head('Content'), show()]);
		}
		if (Array.isArray(value.contents)) shown.push(list(value.contents, (contents, room) => resource(contents, server, room)));
		if (Array.isArray(value.messages)) shown.push(messages(value.messages, server));
		if (!value.content && !value.contents && !value.messages && value.structuredContent === undefined) shown.push(view(value));
		shown.push(rest(value, server));
		if (value._meta) shown.push(folded('_meta', tree(value._meta)));
		shown.push(unfolded('The whole result as JSON', () => [long(format(value)), copyIcon(() => format(value))]));
	}
	return tag('div.result', shown);
}

export function progress(call) {
	const now = call.progress;
	return status('div.progress',
		element('progress', { value: now?.total ? now.progress : false, max: now?.total || false, label: 'Progress' }),
		now ? ` ${now.progress}${now.total ? ` of ${now.total}` : ''} ${now.message ?? ''}` : ' waiting',
		call.task && p(`task ${call.task.taskId}: ${call.task.status} ${call.task.statusMessage ?? ''}`));
}
