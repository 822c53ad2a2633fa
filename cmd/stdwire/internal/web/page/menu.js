// A menu: a button, and the list of actions that it opens above the page.
import { append, button, element, replace, tag } from './dom.js';
import { icon } from './icons.js';

// menu returns the button and the list. items returns, or promises, [text, action, attributes] for each
// entry when the menu is opened; false ones are left out, and a text alone is a heading.
export function menu(label, items, { text, sign = 'more', attributes = {} } = {}) {
	const list = element('div.menu', { popover: 'auto', role: 'menu', label, onkeydown: event => {
		const all = [...list.querySelectorAll('button')];
		const now = all.indexOf(document.activeElement);
		const to = { ArrowDown: now + 1, ArrowUp: now - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
		if (event.key !== 'Escape') event.stopPropagation();
		if (to === undefined) return;
		event.preventDefault();
		all[to % all.length].focus();
	} });
	let filled;
	const fill = async () => replace(list, (await items()).filter(Boolean).map(entry => typeof entry === 'string' ? tag('p.label', entry)
		: button(entry[0], () => {
			list.hidePopover();
			entry[1]();
		}, { role: 'menuitem', ...entry[2] })));
	const opener = element('button', { class: text ? '' : 'icon-only', 'aria-haspopup': 'menu', title: label, label: text ? null : label, ...attributes });
	append(opener, text ? [text, ' ', icon('down')] : icon(sign));
	opener.popoverTargetElement = list;
	list.addEventListener('beforetoggle', event => { if (event.newState === 'open') filled = fill(); });
	list.addEventListener('toggle', async event => {
		opener.ariaExpanded = event.newState === 'open';
		if (event.newState !== 'open') return;
		await filled;
		const at = opener.getBoundingClientRect();
		const fit = (wanted, size, room) => `${Math.max(Math.min(wanted, room - size - 8), 8)}px`;
		list.style.left = fit(at.right - list.offsetWidth, list.offsetWidth, innerWidth);
		list.style.top = fit(at.bottom + 4, list.offsetHeight, innerHeight);
		list.querySelector('button')?.focus();
	});
	return [opener, list];
}
