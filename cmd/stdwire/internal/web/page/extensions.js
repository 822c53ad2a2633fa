// The extensions that are declared to servers, each with a switch.
import * as api from './api.js';
import { append, attempt, div, hint, input, p, replace, tag } from './dom.js';
import { on, state } from './store.js';

// extensions adds switches to place, and returns a function that ends them.
export function extensions(place) {
	const outcome = div();
	const list = div();
	append(place, tag('details.extensions', tag('summary', 'Extensions'),
		hint('What is declared to servers. A change restarts those that run.'), list, outcome));
	const update = () => replace(list, state.extensions.map(({ id, declared }) => p(tag('label',
		input('checkbox', { checked: declared,
			onchange: event => attempt(outcome, () => api.post('extensions', { id, declared: event.target.checked })) }), ' ', id))));
	update();
	return on('extensions', update);
}
