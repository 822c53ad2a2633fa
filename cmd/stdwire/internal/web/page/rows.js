// The list of messages.
import { bytes, duration, element } from './dom.js';
import { family } from './chart.js';
import { failed, find, normal } from './messages.js';
import { virtual } from './virtual.js';

export function rows({ select }) {
	const space = element('div.space', { role: 'presentation' });
	const node = element('div.rows', { role: 'listbox', tabindex: '0', label: 'Messages' }, space);
	let shown = [];
	let zero = 0;
	let selected;
	let follow = true;

	function row(message, index) {
		const response = message.kind === 'response';
		const text = [((message.t - zero) / 1000).toFixed(3), message.from === 'client' ? '→' : '←', message.lane,
			response ? `↳ ${message.method ?? '?'}` : message.method ?? message.kind, message.about ?? '',
			response && normal(message) || message.failed || (response ? 'ok' : message.kind === 'request' && !message.response ? message.ended ? 'no answer' : '…' : ''),
			response ? duration(message.ms) : '', bytes(message.size)];
		const line = element('div', { class: `message ${failed(message) ? 'bad' : normal(message) ? 'muted' : ''}`, role: 'option', id: `message-${message.n}`,
			'aria-posinset': index + 1, 'aria-setsize': shown.length, 'aria-selected': String(message === selected), 'data-n': message.n,
			onclick: () => select(message) }, text.map((part, i) => element('span', { class: `c${i}` }, part)));
		line.style.setProperty('--f', `var(--${family(message.method)})`);
		if (message.parent || message.request?.parent) line.classList.add('within');
		return line;
	}

	const list = virtual(node, space, { token: '--row', row,
		key: message => `${message.n} ${message.response ? 1 : message.ended ? 2 : 0}${message === selected ? 1 : 0}${failed(message)} ${zero}`,
		drawn() {
			if (follow) list.show(shown.length - 1);
			const visible = selected && document.getElementById(`message-${selected.n}`);
			if (visible) node.setAttribute('aria-activedescendant', visible.id);
			else node.removeAttribute('aria-activedescendant');
		} });

	const at = event => find(Number(event.target.closest('.message')?.dataset.n));
	// a row replaced under the pointer gets no click
	node.addEventListener('pointerup', event => { if (event.button === 0 && at(event)) select(at(event)); });
	node.addEventListener('pointerover', event => {
		const message = at(event);
		const pair = [message, message?.request, message?.response].filter(Boolean).map(one => String(one.n));
		for (const line of space.children) line.classList.toggle('pair', pair.length > 1 && pair.includes(line.dataset.n));
	});
	node.addEventListener('scroll', () => { follow = node.scrollTop + node.clientHeight >= node.scrollHeight - 20; });

	function choose(message) {
		selected = message;
		const index = shown.indexOf(message);
		follow &&= index < 0;
		list.show(index);
		list.redraw();
	}

	const move = index => {
		if (shown.length === 0) return;
		choose(shown[Math.min(Math.max(index, 0), shown.length - 1)]); // the next key counts from here
		select(selected);
	};
	node.addEventListener('keydown', event => {
		const now = shown.indexOf(selected);
		const page = list.page() - 1;
		const to = { ArrowDown: now + 1, j: now + 1, ArrowUp: now < 0 ? shown.length - 1 : now - 1, k: now - 1, PageDown: now + page, PageUp: now - page,
			Home: 0, End: shown.length - 1 }[event.key];
		if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		event.stopPropagation();
		move(to);
	});

	return { node, choose, close: list.close,
		set(messages, start) {
			shown = messages;
			zero = start;
			list.set(shown);
		},
		follow() {
			follow = true;
			list.redraw();
		} };
}
