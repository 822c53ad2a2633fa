// The servers: their state, the problem of a server that has failed, and actions on them.
import * as api from './api.js';
import { authorization } from './authorization.js';
import { add, clone, configuration, edit, exporting, move, remove, review } from './config.js';
import { attempt, button, duration, element, empty, field, problem, replace, select } from './dom.js';
import { firstRun } from './first.js';
import { extensions } from './extensions.js';
import { tree } from './json.js';
import { on, state } from './store.js';

export const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export function servers(root) {
  const list = element('div', { class: 'cards' });
  const files = element('div', { class: 'row' });
  const outcome = element('div');
  const whole = element('div', {}, element('h2', {}, 'Servers'), files, outcome, list);
  const start = element('div');
  replace(root, start, whole);
  const endExtensions = state.servers.some(server => !server.watched) ? extensions(whole) : () => {};
  const pick = picked => review(picked, id => { location.hash = `#/tools/${encodeURIComponent(id)}`; });
  let off;
  const none = () => {
    const empties = state.servers.length === 0 && off !== undefined;
    whole.hidden = state.servers.length === 0;
    if (!empties) replace(start);
    else if (start.childElementCount === 0) {
      replace(start, off ? empty('No servers', `This page shows messages, and changes no servers: ${off}.`, element('a', { class: 'button', href: '#/timeline' }, 'Timeline')) : firstRun(pick));
    }
  };
  let editable = [];
  configuration().then(({ off: why = '', files: all }) => {
    off = why;
    none();
    const act = action => () => attempt(outcome, action);
    replace(files, off ? element('p', { class: 'muted' }, `Servers cannot be changed: ${off}.`)
      : [button('Add server', act(add), { class: 'primary' }), button('Export', act(exporting), { title: 'Without secrets' })]);
    if (!off) editable = all.map(file => file.path);
    for (const card of cards.values()) card.files(editable);
  }, error => replace(outcome, problem(error)));
  const cards = new Map(); // id → { node, update }
  const update = () => {
    for (const [id, card] of cards) {
      if (!state.servers.some(server => server.id === id)) {
        card.node.remove();
        card.close();
        cards.delete(id);
      }
    }
    none();
    for (const [i, server] of state.servers.entries()) {
      if (!cards.has(server.id)) {
        cards.set(server.id, card(server.id));
        cards.get(server.id).files(editable);
      }
      const { node, update } = cards.get(server.id);
      if (list.children[i] !== node) {
        const focused = node.contains(document.activeElement) && document.activeElement;
        list.insertBefore(node, list.children[i]);
        if (focused) focused.focus();
      }
      update(server);
    }
  };
  update();
  const end = on('servers', update);
  return {
    show(at) { cards.get(at.parts[0])?.node.scrollIntoView(); },
    close() {
      end();
      endExtensions();
      for (const card of cards.values()) card.close();
    },
  };
}

const quiet = (text, onclick) => button(text, onclick, { class: 'quiet' });

function card(id) {
  const head = element('div', { class: 'row' });
  const facts = element('dl', { class: 'facts' });
  const trouble = element('div');
  const outcome = element('div', { role: 'status' });
  const more = element('div');
  const log = element('div');
  const access = element('div');
  let authorized;
  let connection = ''; // the state of the server when authorized was last updated
  const lines = element('textarea', { rows: '2', spellcheck: 'false', placeholder: 'file:///home/me/project' });
  const setRoots = result => attempt(outcome, async () => {
    await api.post(`servers/${api.segments(id)}/roots`, { result });
    replace(outcome, element('p', {}, result ? 'Requests of the server for roots are answered with these.' : 'You are asked when the server requests roots.'));
  });
  const roots = element('details', { hidden: true }, element('summary', {}, 'Roots'), field(`Roots of ${id}: file: URIs, one a line`, lines),
    element('div', { class: 'row' }, button('Set', () => setRoots({ roots: lines.value.split('\n').map(line => line.trim()).filter(Boolean).map(uri => ({ uri })) })),
      button('Ask each time', () => setRoots(null))));
  const withoutStream = element('input', { type: 'checkbox', onchange: () => attempt(outcome, () =>
    api.post(`servers/${api.segments(id)}/stream`, { omit: withoutStream.checked })) });
  const stream = element('p', { hidden: true }, element('label', {}, withoutStream, ' Without the GET stream'),
    element('span', { class: 'hint' }, ' The server can say nothing between calls. A change restarts it.'));
  const actions = element('div', { class: 'row' });
  // tidy removes the problem of an action if the server's own state shows it, or the server is ready.
  const tidy = ready => {
    const earlier = outcome.querySelector(':scope > .problem');
    if (earlier && (ready || earlier.textContent === trouble.textContent)) earlier.remove();
  };
  const act = async action => {
    await attempt(outcome, () => api.post(`servers/${api.segments(id)}/do/${action}`));
    tidy();
  };
  let shown = '';
  let file;
  let editable = [];
  // beside returns the server before (-1) or after (1) this one in its file.
  const beside = step => {
    const all = state.servers.filter(server => server.file === file);
    return all[all.findIndex(server => server.id === id) + step]?.id;
  };
  const moves = [['Up', -1], ['Down', 1]].map(([text, step]) => [step, button(text, () => attempt(outcome, () => beside(step) && move(id, beside(step), file)),
    { class: 'quiet', title: `Move it ${text.toLowerCase()} in the file`, 'aria-label': `Move ${id} ${text.toLowerCase()}` })]);
  const change = element('div', { class: 'row', hidden: true }, [['Edit', () => edit(id)], ['Clone', () => clone(id)]].map(([text, action]) => quiet(text, () => attempt(outcome, action))),
    moves.map(([, node]) => node), button('Remove', () => attempt(outcome, () => remove(id, file)), { class: 'quiet bad' }));
  const changes = () => {
    change.hidden = !editable.includes(file);
    for (const [step, node] of moves) node.setAttribute('aria-disabled', String(!beside(step)));
  };
  const node = element('section', { class: 'card', 'aria-label': id, 'data-testid': `server-${id}` }, head, facts, trouble, actions, change, outcome, log, access, roots, stream, more);
  return { node, close: () => authorized?.close(), files(all) {
    editable = all;
    changes();
  }, update(server) {
    file = server.file;
    changes();
    const text = JSON.stringify(server);
    if (text === shown) return; // what is open stays open
    shown = text;
    replace(head, element('h3', {}, id), element('span', { class: `state state-${server.state}` }, server.state),
      server.uses > 0 && element('span', { class: 'muted' }, `${server.uses} in use`));
    const details = server.details;
    replace(facts, [['reached by', server.gateway ? 'its socket, as a client' : server.selector], ['configured at', server.source], ['server', details && name(details.info)],
      ['revision', details && `${details.revision}, ${details.era} era, by ${details.method}`],
      ['ready after', server.took_ms && duration(server.took_ms)], ['process', details?.pid],
      ['capabilities', details && Object.keys(details.capabilities ?? {}).join(', ')],
      ['restarts', server.restarts || undefined],
      ['next start', server.retry_at && new Date(server.retry_at).toLocaleTimeString()],
    ].filter(([, value]) => value !== undefined && value !== '' && value !== 0)
      .map(([term, value]) => [element('dt', {}, term), element('dd', {}, String(value))]));
    replace(trouble, server.problem && problem(server.problem));
    if (server.url && !server.watched && !authorized) {
      authorized = authorization(id);
      access.append(authorized.node);
    }
    access.hidden = !server.url;
    stream.hidden = !server.no_stream && (!server.url || server.watched || details?.era !== 'legacy');
    withoutStream.checked = Boolean(server.no_stream);
    const ready = server.state === 'ready';
    tidy();
    if (connection !== (connection = `${server.state} ${server.since} ${server.url}`)) {
      authorized?.update();
      tidy(ready);
    }
    roots.hidden = !ready || Boolean(server.watched);
    replace(actions,
      !server.gateway && (server.state === 'disabled' ? button('Enable', () => act('enable'))
        : ready ? button('Stop', () => act('stop')) : button('Start', () => act('start'))),
      element('a', { class: 'button', href: server.watched ? `#/timeline?filter=${encodeURIComponent(`server:${id}`)}` : `#/tools/${encodeURIComponent(id)}` },
        server.watched ? 'Messages' : 'Tools'),
      !server.gateway && quiet('Log', () => showLog(log, id)),
      !server.gateway && server.state !== 'disabled' && [quiet('Restart', () => act('restart')), quiet('Disable', () => act('disable'))],
      server.added && quiet('Forget', () => act('forget')), !server.watched && !server.gateway && !server.added && quiet('Doctor', () => examine(outcome, id)),
      details?.capabilities?.logging && select([['', 'Log level…'], ...levels], '', level =>
        attempt(outcome, () => api.post(`servers/${api.segments(id)}/level`, { level })), { 'aria-label': `Log level of ${id}` }));
    if (details) {
      replace(more, details.instructions && element('details', {}, element('summary', {}, 'Instructions'), element('pre', {}, details.instructions)),
        element('details', {}, element('summary', {}, 'Handshake'), tree(details.handshake)),
        details.environment?.length > 0 && element('details', {}, element('summary', {}, 'Environment'),
          element('p', { class: 'hint' }, 'Names only: the values are not sent to the page.'), element('p', {}, details.environment.join(' '))));
    }
  } };
}

const name = info => [info?.title ?? info?.name, info?.version].filter(Boolean).join(' ');

// examine shows the report of stdwire doctor, which starts the server a second time.
async function examine(place, id) {
  replace(place, element('p', {}, 'The doctor starts the server a second time …'));
  const report = await attempt(place, () => api.post(`servers/${api.segments(id)}/doctor`));
  if (!report) return;
  replace(place, element('p', {}, element('strong', {}, `doctor: ${report.verdict}`)),
    element('ul', {}, report.findings.map(finding => element('li', {}, `${finding.severity}: ${finding.what}`,
      finding.hint && element('p', { class: 'hint' }, finding.hint)))));
}

async function showLog(place, id) {
  const written = await attempt(place, () => api.get(`servers/${api.segments(id)}/log`));
  if (written) {
    replace(place, element('h4', {}, 'Standard error'),
      // eslint-disable-next-line no-control-regex
      element('pre', { class: 'log', tabindex: '0' }, written.text.replace(/\x1b\[[0-9;]*[A-Za-z]/g, '') || '(nothing)'));
  }
}
