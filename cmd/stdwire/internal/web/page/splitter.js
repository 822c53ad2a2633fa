// The handle between two panes. The browser keeps the width that the user gives the first one.
import { element } from './dom.js';

const least = 200, most = 640, step = 16; // pixels

// splitter returns a handle that sets the width --name. label says what it is the width of.
export function splitter(name, label) {
	const root = document.documentElement;
	const key = `stdwire width ${name}`;
	const now = () => Number.parseFloat(getComputedStyle(root).getPropertyValue(`--${name}`));
	const node = element('div.splitter', { role: 'separator', tabindex: '0', 'aria-orientation': 'vertical', label, title: label,
		'aria-valuemin': least, 'aria-valuemax': most });
	const set = width => {
		const to = Math.round(Math.min(Math.max(width, least), most));
		root.style.setProperty(`--${name}`, `${to}px`);
		node.ariaValueNow = to;
		localStorage.setItem(key, to);
	};
	const kept = Number(localStorage.getItem(key));
	if (kept) set(kept);
	else node.ariaValueNow = now();
	node.addEventListener('pointerdown', event => node.setPointerCapture(event.pointerId));
	node.addEventListener('pointermove', event => {
		if (node.hasPointerCapture(event.pointerId)) set(event.clientX - node.parentElement.getBoundingClientRect().left);
	});
	node.addEventListener('keydown', event => {
		const by = { ArrowLeft: -step, ArrowRight: step }[event.key];
		if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
		event.preventDefault();
		set(now() + by);
	});
	return node;
}
