// The extensions that are declared to servers, each with a switch.
import * as api from './api.js';
import { append, attempt, div, element, hint, p, replace } from './dom.js';
import { on, state } from './store.js';

// extensions adds the switches to place, and returns a function that ends them.
export function extensions(place) {
  const outcome = div();
  const list = div();
  append(place, element('details', { class: 'extensions' }, element('summary', {}, 'Extensions'),
    hint('What is declared to servers. A change restarts those that run.'), list, outcome));
  const update = () => replace(list, state.extensions.map(({ id, declared }) => p(element('label', {},
    element('input', { type: 'checkbox', checked: declared,
      onchange: event => attempt(outcome, () => api.post('extensions', { id, declared: event.target.checked })) }), ' ', id))));
  update();
  return on('extensions', update);
}
