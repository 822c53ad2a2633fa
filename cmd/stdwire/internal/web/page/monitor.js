// The latest messages, beside any view: those of the definition that is open, if one is.
import { element, faint, h2, replace, tag } from './dom.js';
import { all, failed, listen, start } from './messages.js';
import { on, state } from './store.js';

const shown = 60; // messages

// monitor returns a function that shows or hides the latest messages in place, and returns whether it
// shows them.
export function monitor(place, toggle) {
	const list = element('ol.items', { label: 'Latest messages', 'data-testid': 'monitor' });
	const title = h2();
	const latest = () => {
		const { server, name } = state.selected;
		title.textContent = name ? `Messages of ${name}` : 'Latest messages';
		const found = [];
		for (let i = all.length - 1; i >= 0 && found.length < shown; i--) {
			if (!name || all[i].lane === server && all[i].about === name) found.push(all[i]);
		}
		return found;
	};
	const update = () => {
		const found = latest();
		replace(list, found.length === 0 && tag('li.muted', 'None yet.'), found.map(message => tag('li',
		element('a', { href: `#/timeline/${message.n}`, class: failed(message) ? 'bad' : '' },
			`${message.from === 'client' ? '→' : '←'} ${message.kind === 'response' ? '↳ ' : ''}${message.method ?? message.kind} `,
			faint([message.lane, message.about, message.failed].filter(Boolean).join(' · ')))))); };
	replace(place, title, list);
	const press = () => toggle.ariaPressed = place.offsetWidth > 0;
	new ResizeObserver(press).observe(place); // the style sheet may hide it
	let ends = [];
	return (auto = false) => {
		// the timeline and narrow windows do not show what the page opened by itself: then the button does
		const unseen = place.dataset.auto && getComputedStyle(place).display === 'none';
		if (auto) place.dataset.auto = 'yes';
		else delete place.dataset.auto;
		place.hidden = !place.hidden && !unseen;
		press();
		for (const end of ends) end();
		ends = [];
		if (place.hidden) return false;
		ends = [listen(update), on('selected', update)];
		start();
		update();
		return true;
	};
}
