// The latest messages, beside any view: those of the definition that is open, if one is. The messages of
// a call, below its result.
import * as api from './api.js';
import { anchor, attempt, bytes, div, duration, element, faint, h2, head, keyed, li, p, replace, tag, unfolded, unpressed } from './dom.js';
import { parse, tree } from './json.js';
import { all, failed, listen, start } from './messages.js';
import { on, state } from './store.js';

const shown = 60; // messages
const most = 200; // of a call

const line = (message, ...more) => [`${message.from === 'client' ? '→' : '←'} ${message.kind === 'response' ? '↳ ' : ''}${message.method ?? message.kind} `,
	faint([...more, message.failed].filter(Boolean).join(' · '))];

// names reports whether a message is about a name. Of a long one it has the beginning.
const names = ({ about }, name) => about && (about === name || about.endsWith('…') && name.startsWith(about.slice(0, -1)));

// messagesOf shows the messages of a call: those about the same name in its time, and what belongs to them.
// It returns a function that ends that.
export function messagesOf(place, { request: { server, method, params = {} }, began, ended }) {
	const name = params.name ?? params.uri;
	if (!name) return () => {};
	const known = new Map(); // number → item
	let updates = 0;
	const title = head();
	const list = element('ol.items', { label: 'Messages of the call' });
	const body = n => {
		const node = div();
		attempt(node, async () => replace(node, tree(parse((await api.get(`traffic/${n}`)).text)), p(anchor(`#/timeline/${n}`, 'On the timeline'))));
		return node;
	};
	const update = () => {
		const found = all.filter(message => {
			const of = message.parent ?? message.request?.parent ?? message.request ?? message;
			return of.lane === server && of.t >= began && of.t < ended + 1 && of.method === method && names(of, name);
		});
		keyed(known, found.slice(-most), ({ n }) => n, message => {
			const node = li(unfolded(line(message, duration(message.ms), bytes(message.size)), () => body(message.n)));
			list.append(node);
			return { node, update() {} };
		});
		if (found.length === 0) return;
		if (!list.parentNode) replace(place, tag('section.card', title, list));
		replace(title, anchor(api.filtered(`call:${found[0].n}`), found.length > most ? `The latest ${most} of ${found.length} messages` : 'Messages'));
		// the second fetch from now on begins after the call has ended
		if (++updates > 2 && found.every(one => one.kind !== 'request' || one.response || one.ended)) end();
	};
	const end = listen(update);
	start();
	update();
	return end;
}

// monitor returns a function that shows or hides the latest messages in place, and returns whether it
// shows them.
export function monitor(place, toggle) {
	const list = element('ol.items', { label: 'Latest messages', test: 'monitor' });
	const title = h2();
	const update = unpressed(list, () => {
		const { server, name } = state.selected;
		title.textContent = name ? `Messages of ${name}` : 'Latest messages';
		const found = (name ? all.filter(message => message.lane === server && names(message, name)) : all).slice(-shown).reverse();
		replace(list, found.length === 0 && tag('li.muted', 'None yet.'), found.map(message => li(
			element('a', { href: `#/timeline/${message.n}`, class: failed(message) ? 'bad' : '' },
				line(message, message.lane, message.about)))));
	});
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
