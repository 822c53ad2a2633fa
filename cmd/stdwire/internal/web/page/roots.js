// The roots of servers: a note says what a server was given without the user, who can change it.
import * as api from './api.js';
import { attempt, button, element, field, inRow, muted } from './dom.js';
import { on, server, state } from './store.js';
import { toast } from './toast.js';

// changeRoots opens a dialog in which the user sets what a server is told.
export function changeRoots(id) {
  const outcome = element('div');
  const lines = element('textarea', { rows: '4', class: 'json', spellcheck: 'false', placeholder: 'file:///home/me/project', value: (server(id)?.roots ?? []).join('\n') });
  const set = result => attempt(outcome, async () => {
    await api.post(`servers/${api.segments(id)}/roots`, { result });
    dialog.close();
    toast(result ? 'Requests of the server for roots are answered with these.' : 'You are asked when the server requests roots.');
  });
  const dialog = element('dialog', { 'aria-label': `Roots of ${id}`, class: 'wide', onclose: () => dialog.remove() }, element('h2', {}, `Roots of ${id}`),
    muted('The directories that the server is told to work in.'), field(`Roots of ${id}: file: URIs, one a line`, lines), outcome,
    inRow(button('Set', () => set({ roots: lines.value.split('\n').map(line => line.trim()).filter(Boolean).map(uri => ({ uri })) }), { class: 'primary' }),
      button('Ask each time', () => set(null)), button('Cancel', () => dialog.close())));
  document.body.append(dialog);
  dialog.showModal();
}

// watchRoots says once for each server what it was given.
export function watchRoots() {
  const said = new Set();
  const update = () => {
    for (const { id, roots } of state.servers) {
      if (!roots || said.has(id)) continue;
      said.add(id);
      toast([`${id} asked for its roots and got `, element('code', {}, roots.map(uri => uri.replace(/^file:\/\//, '')).join(' ') || 'none')], ['Change', () => changeRoots(id)]);
    }
  };
  on('servers', update);
  update();
}
