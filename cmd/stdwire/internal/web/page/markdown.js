// A part of Markdown: paragraphs, headings, lists, code, emphasis and links. It becomes elements that
// are made here, never markup: what it does not know, such as HTML and images, is shown as text.
import { div, element, li, link, p, strong, tag } from './dom.js';

const longest = 20_000; // characters that are read; the rest is shown as text
const most = 2000; // elements

const inline = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\s][^*\n]*)\*|\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)/;

export function markdown(text) {
	let left = most;
	const node = div();
	node.className = 'markdown';

	function spans(line) {
		const shown = [];
		for (let rest = line; rest !== '';) {
			const found = left > 0 && inline.exec(rest);
			if (!found) return [...shown, rest];
			left--;
			const [whole, code, bold, bold2, emphasis, title, url] = found;
			shown.push(rest.slice(0, found.index), code ? tag('code', code) : bold ?? bold2 ? strong(bold ?? bold2) : emphasis ? tag('em', emphasis)
				: [link(url, title), title === url ? '' : ` (${url})`]); // the address is always seen
			rest = rest.slice(found.index + whole.length);
		}
		return shown;
	}

	const lines = text.slice(0, longest).split('\n');
	let paragraph = [];
	const end = () => {
		if (paragraph.length > 0) node.append(p(paragraph.map((line, i) => [i > 0 && '\n', spans(line)])));
		paragraph = [];
	};
	while (lines.length > 0 && left-- > 0) {
		const line = lines.shift();
		const [, heading] = /^#{1,6} +(.*)/.exec(line) ?? [];
		const item = /^\s{0,8}([-*+]|\d{1,9}[.)]) +/;
		if (/^\s*(```|~~~)/.test(line)) {
			end();
			const code = lines.splice(0, (lines.findIndex(one => one.trim() === line.trim().slice(0, 3)) + 1 || lines.length + 1) - 1);
			lines.shift();
			node.append(element('pre.code', { tabindex: '0' }, code.join('\n')));
		} else if (heading) {
			end();
			node.append(p(strong(spans(heading))));
		} else if (item.test(line)) {
			end();
			const list = element(/^\s*\d/.test(line) ? 'ol' : 'ul', { start: Number.parseInt(line, 10) || null });
			for (let one = line; ; one = lines.shift()) {
				const words = [one.replace(item, '')];
				while (/^\s+\S/.test(lines[0] ?? '') && !item.test(lines[0])) words.push(lines.shift().trim());
				list.append(li(spans(words.join(' '))));
				if (!(left-- > 0 && item.test(lines[0] ?? ''))) break;
			}
			node.append(list);
		} else if (line.trim() === '') end();
		else paragraph.push(line);
	}
	end();
	const rest = [...lines, text.slice(longest)].join('\n').trim();
	if (rest) node.append(tag('pre', rest));
	return node;
}
