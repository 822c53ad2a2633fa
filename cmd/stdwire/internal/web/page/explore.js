// The definitions of servers: a list that can be searched, and the selected definition beside it.
import * as api from './api.js';
import { hasApp } from './apps.js';
import { attempt, button, element, problem, replace, select } from './dom.js';
import { diff, tree } from './json.js';
import { pages } from './pages.js';
import { panel } from './panels.js';
import { definitions, on, server, state } from './store.js';

const kinds = { tools: 'tool', resources: 'resource', templates: 'resource template', prompts: 'prompt', skills: 'skill' };

const identity = { tool: 'name', prompt: 'name', resource: 'uri', 'resource template': 'uriTemplate', skill: 'uri' };

// icon returns an icon of a definition that can be shown without a request to another server.
export function icon(definition) {
  const src = Array.isArray(definition.icons) && definition.icons.find(icon => /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/.test(icon?.src))?.src;
  return src ? element('img', { class: 'icon', src, alt: '' }) : null;
}

// named returns a definition with its name and description: those of a skill are in its front matter.
const named = d => ({ ...d, name: d.name ?? d.frontmatter?.name, description: d.description ?? d.frontmatter?.description });

// badges returns short labels: annotations, pin state, findings.
export function badges(item) {
  const a = item.definition.annotations ?? {};
  const list = [];
  const add = (text, kind, title) => list.push(element('span', { class: `badge ${kind}`, title }, text));
  if (item.denied) add('not allowed', 'bad', 'The configuration does not allow this tool.');
  if (item.excluded) add('excluded', 'bad', item.excluded);
  if (item.pin === 'new') add('new', 'warn', 'It did not exist when the server was pinned.');
  if (item.pin === 'changed') add('changed', 'bad', 'It differs from its pin.');
  if (item.findings?.length) add(`${item.findings[0].severity}: ${item.findings.length}`, ['critical', 'high'].includes(item.findings[0].severity) ? 'bad' : 'warn', item.findings.map(f => f.what).join('\n'));
  if (hasApp(item.definition)) add('app', 'info', 'It has an app.');
  const visibility = item.definition._meta?.ui?.visibility;
  if (Array.isArray(visibility) && !visibility.includes('model')) add('not for models', 'info', 'Hosts do not offer it to models.');
  if (a.readOnlyHint) add('read-only', 'good', 'The server says that it changes nothing.');
  if (a.readOnlyHint === false && a.destructiveHint !== false) add('destructive', 'warn', 'The server says that it may destroy something.');
  if (a.idempotentHint) add('idempotent', 'good', 'The server says that a repeated call has no further effect.');
  if (a.openWorldHint) add('open world', 'info', 'The server says that it reaches other systems.');
  if (item.definition.execution?.taskSupport && item.definition.execution.taskSupport !== 'forbidden') add(`task ${item.definition.execution.taskSupport}`, 'info');
  return list;
}

// looked has the definitions as the user last saw them, as JSON by name, for each server and kind.
const looked = new Map();

// since returns the changes since the user last saw a list: { now, fresh(name), gone }. The definition
// that is open counts as seen.
function since(key, kind, list, open) {
  const now = new Map(list.map(({ definition }) => [String(definition[identity[kind]]), JSON.stringify(definition)]));
  if (!looked.has(key)) looked.set(key, now);
  const before = looked.get(key);
  if (now.has(open)) before.set(open, now.get(open));
  return { now, fresh: name => !before.has(name) ? 'just added' : before.get(name) !== now.get(name) && 'just changed',
    gone: [...before.keys()].filter(name => !now.has(name)) };
}

export function explore(root, view) {
  const kind = kinds[view];
  let at = { parts: [], query: new URLSearchParams() };
  let entries = []; // { server, item, fresh }
  const shownLists = new Map(); // the definitions that are shown, by server and kind
  let open = '';
  let panelEnd;
  let known = false; // whether the panel's server is connected, so that its capabilities are known
  const search = element('input', { type: 'search', placeholder: `Search ${view}  ( / )`, 'aria-label': `Search ${view}`, oninput: () => list() });
  const chooser = element('div');
  const byPage = pages(view);
  const items = element('ul', { class: 'items', 'aria-label': view, 'data-testid': 'definitions' });
  const notes = element('div');
  const detail = element('section', { class: 'detail', 'aria-label': kind, 'data-testid': 'definition' });
  replace(root, element('div', { class: 'split' }, element('div', { class: 'side' }, element('h2', {}, view[0].toUpperCase() + view.slice(1)),
    chooser, search, notes, byPage.node, items), detail));

  const address = (id, name) => `#/${view}/${encodeURIComponent(id)}/${encodeURIComponent(name)}`;

  // fetch gets the lists of the chosen server, or of all running servers.
  async function fetch() {
    const chosen = at.parts[0];
    const usable = state.servers.filter(server => !server.watched).filter(server => chosen ? server.id === chosen : server.state === 'ready' || state.servers.length === 1);
    replace(chooser, state.servers.length > 1 && select([['', 'all running servers'], ...state.servers.map(server => server.id)], chosen ?? '',
      id => { location.hash = id ? `#/${view}/${encodeURIComponent(id)}` : `#/${view}`; }, { 'aria-label': 'Server' }));
    byPage.update(usable.length === 1 && usable[0].state !== 'disabled' ? usable[0].id : undefined);
    const found = [];
    const problems = [];
    if (usable.length > 0 && entries.length === 0) replace(notes, element('p', { class: 'muted' }, 'Waiting for the server …'));
    await Promise.all(usable.map(async server => {
      if (server.state === 'disabled') return;
      try {
        const all = await definitions(server.id);
        if (all.problems?.[kind]) problems.push(problem(all.problems[kind]));
        if (all.pins) problems.push(problem(all.pins));
        if (all.identity) problems.push(element('p', { class: 'problem' }, `The identity of ${server.id} has changed since it was pinned: ${all.identity}`));
        for (const finding of all.findings) {
          problems.push(element('p', { class: 'problem' }, `${finding.severity}: ${finding.what} ${finding.advice}`));
        }
        const key = JSON.stringify([server.id, kind]);
        const { now, fresh, gone } = since(key, kind, all.lists[kind] ?? [], server.id === at.parts[0] && at.parts[1]);
        shownLists.set(key, now);
        if (gone.length > 0) problems.push(element('p', { class: 'muted' }, `Gone since you looked: ${gone.join(', ')}`));
        for (const item of all.lists[kind] ?? []) {
          found.push({ server: server.id, item, fresh: fresh(String(item.definition[identity[kind]])) });
        }
      } catch (error) {
        problems.push(element('div', {}, element('strong', {}, server.id), problem(error)));
      }
    }));
    entries = found;
    replace(notes, problems, usable.length === 0 && (state.servers.some(server => server.watched)
      ? element('p', {}, 'The gateway lists the definitions of this server: select the gateway.')
      : element('p', {}, 'No server is running. ', element('a', { href: '#/servers' }, 'Start one'), '.')));
    list();
    select1();
  }

  // list shows the entries that the search selects.
  function list() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = entries.filter(({ server: id, item: { definition } }) => {
      const d = named(definition);
      const text = [id, d.name, d.title, d.description, d.uri, d.uriTemplate].join(' ').toLowerCase();
      return words.every(word => text.includes(word));
    });
    replace(items, shown.slice(0, 2000).map(({ server: id, item, fresh }) => {
      const d = named(item.definition);
      const name = String(d[identity[kind]]);
      return element('li', {}, element('a', { href: address(id, name), 'aria-current': id === at.parts[0] && name === at.parts[1] ? 'true' : false },
        icon(d), element('span', { class: 'name' }, d.title ?? d.annotations?.title ?? (kind === 'tool' ? name : d.name ?? name)),
        state.servers.length > 1 && element('span', { class: 'muted' }, ` ${id}`), fresh && element('span', { class: 'badge info' }, fresh), badges(item),
        element('span', { class: 'muted line' }, kind.startsWith('resource') ? name : d.description ?? '')));
    }), shown.length === 0 && entries.length > 0 && element('li', { class: 'muted' }, 'Nothing matches.'),
    shown.length > 2000 && element('li', { class: 'muted' }, `${shown.length - 2000} more: search for them.`));
    if (entries.length === 0 && notes.childElementCount === 0) replace(items, element('li', { class: 'muted' }, `There are no ${view}.`));
  }

  // select1 shows the entry of the address.
  function select1() {
    const [id, name] = at.parts;
    const found = entries.find(entry => entry.server === id && String(entry.item.definition[identity[kind]]) === name);
    known ||= Boolean(server(id)?.details);
    const key = JSON.stringify([id, name, found?.item, known]);
    if (key === open) {
      panelEnd?.show?.(at.query);
      return;
    }
    if (JSON.parse(open || '[]')[0] !== id) known = Boolean(server(id)?.details);
    open = JSON.stringify([id, name, found?.item, known]);
    panelEnd?.close();
    panelEnd = undefined;
    replace(detail);
    root.dataset.selected = String(name !== undefined);
    if (name === undefined) {
      replace(detail, element('p', { class: 'muted' }, `Select a ${kind}.`));
      return;
    }
    if (!found && kind !== 'resource') {
      if (entries.length > 0) replace(detail, element('p', {}, `${id} has no ${kind} ${name}.`));
      return;
    }
    const item = found?.item ?? { definition: { uri: name, name } }; // a resource need not be listed
    const place = element('div');
    replace(detail, element('p', { class: 'back' }, element('a', { href: `#/${view}/${encodeURIComponent(id)}` }, '← all')), head(item), about(item, id), place);
    try {
      panelEnd = panel(kind, place, server(id), item.definition, at.query);
    } catch (error) { // the definition is invalid
      replace(place, problem({ code: 'invalid', message: `The definition cannot be used: ${error.message}` }));
    }
  }

  function head(item) {
    const d = named(item.definition);
    return [element('h2', {}, icon(d), d.title ?? d.annotations?.title ?? d.name), element('p', { class: 'muted' }, d[identity[kind]], ' ',
      d.mimeType ?? '', d.size !== undefined && ` ${d.size} bytes`), element('p', {}, badges(item)),
    d.description && element('p', { class: 'description' }, d.description)];
  }

  // about shows the changes of a definition, the findings of the scan, and the definition itself.
  function about(item, id) {
    const outcome = element('div');
    return [
      item.findings?.map(finding => element('div', { class: 'problem' }, element('strong', {}, `${finding.severity}, ${finding.rule}: `), finding.what,
        finding.where && element('code', {}, ` ${finding.where}`), finding.evidence && element('pre', {}, finding.evidence), element('p', { class: 'hint' }, finding.advice))),
      item.excluded && element('div', { class: 'problem' }, element('strong', {}, 'Excluded: '), item.excluded),
      item.headers && element('p', { class: 'hint' }, 'Also sent as headers: ', item.headers.map(({ argument, header }) => `${argument} as ${header}`).join(', ')),
      item.portability && element('details', { class: 'portability' }, element('summary', {}, `Portability: what hosts convert for some models (${item.portability.length})`),
        element('dl', { class: 'diff' }, item.portability.map(({ what, places }) => [element('dt', {}, what), element('dd', {}, places.map(place => place.where).join('\n'))]))),
      (item.pin === 'new' || item.pin === 'changed') && element('div', { class: 'problem' }, element('strong', {}, `This ${kind} is ${item.pin} since the server was pinned.`),
        item.diff && diff(item.diff), button('Accept', () => attempt(outcome, async () => {
          await api.post(`servers/${api.segments(id)}/pins`, { kind, names: [String(item.definition[identity[kind]])] });
          state.definitions.delete(id);
          await fetch();
        })), outcome),
      element('details', {}, element('summary', {}, 'Definition'), tree(item.definition)),
    ];
  }

  let states = '';
  const ends = [on('servers', () => { // ignores changes that are not about the panel's server
    const now = JSON.stringify(state.servers.map(server => [server.id, server.state, Boolean(server.details)]));
    if (now !== states) fetch();
    states = now;
  }), on('definitions', () => fetch())];
  return {
    show(next) {
      at = next;
      fetch();
    },
    key(event) {
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      if (step === undefined) return false;
      const links = [...items.querySelectorAll('a')];
      const now = links.findIndex(a => a === document.activeElement || a.getAttribute('aria-current') === 'true' && !links.includes(document.activeElement));
      links[Math.min(Math.max(now + step, 0), links.length - 1)]?.focus();
      return true;
    },
    close() {
      panelEnd?.close();
      for (const end of ends) end();
      for (const [key, now] of shownLists) looked.set(key, now);
      delete root.dataset.selected;
    },
  };
}
