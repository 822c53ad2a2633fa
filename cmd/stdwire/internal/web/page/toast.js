// A note above the page of what was done for the user, one at a time.
import { button, iconButton, status, tag } from './dom.js';

const shown = 12_000; // ms
let timer;
let node;

// toast shows a text, and an action: [text, function].
export function toast(text, action) {
	node?.remove();
	clearTimeout(timer);
	const mine = status('div.toast', tag('span', text), action && button(action[0], () => {
		mine.remove();
		action[1]();
	}, { class: 'quiet' }), iconButton('close', 'Close', () => mine.remove()));
	node = mine;
	document.body.append(mine);
	timer = setTimeout(() => { if (!mine.matches(':focus-within, :hover')) mine.remove(); }, shown);
	return mine;
}
