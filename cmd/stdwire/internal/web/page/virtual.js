// A long list of which only the visible rows have elements. All rows have one height: that of a token.
import { on } from './store.js';

const beyond = 20; // rows above and below

// virtual shows items in space, a list that node scrolls. row makes the element of an item, which is kept
// while key, what it shows, stays; drawn is called after each change. page() is how many rows are visible.
export function virtual(node, space, { token, row, key = item => item, drawn = () => {} }) {
	const lines = new Map(); // key → element
	let items = [];
	let dirty = false;
	let height;
	const measure = () => { height = Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue(token)); };

	function render() {
		dirty = false;
		space.style.height = `${items.length * height}px`;
		const from = Math.max(Math.floor(node.scrollTop / height) - beyond, 0);
		const to = Math.min(Math.ceil((node.scrollTop + node.clientHeight) / height) + beyond, items.length);
		const wanted = new Map();
		for (let index = from; index < to; index++) wanted.set(key(items[index]), index);
		for (const [known, line] of lines) {
			if (wanted.has(known)) continue;
			line.remove();
			lines.delete(known);
		}
		let next = null;
		for (const [known, index] of [...wanted].reverse()) {
			if (!lines.has(known)) lines.set(known, row(items[index], index));
			const line = lines.get(known);
			line.style.top = `${index * height}px`;
			if (line.parentNode !== space || line.nextSibling !== next) space.insertBefore(line, next);
			next = line;
		}
		drawn(lines.values());
	}

	function redraw() {
		if (!dirty) requestAnimationFrame(render);
		dirty = true;
	}

	measure();
	node.addEventListener('scroll', redraw);
	new ResizeObserver(() => {
		measure(); // a narrow window has other rows
		redraw();
	}).observe(node);
	const clear = () => {
		for (const line of lines.values()) line.remove();
		lines.clear();
		redraw();
	};
	const close = on('density', () => {
		measure();
		clear();
	});
	return { redraw, clear, close,
		page: () => Math.floor(node.clientHeight / height),
		set(next) {
			items = next;
			redraw();
		},
		// show scrolls as little as needed to the row at index.
		show(index) {
			if (index < 0) return;
			const top = index * height;
			space.style.height = `${items.length * height}px`;
			if (top < node.scrollTop) node.scrollTop = top;
			else if (top + height > node.scrollTop + node.clientHeight) node.scrollTop = top + height - node.clientHeight;
		} };
}
