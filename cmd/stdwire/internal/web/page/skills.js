// Skills: their front matter, and their files, which are compared with the entry of the skill.
import * as api from './api.js';
import { append, attempt, button, bytes, div, element, grid, h4, p, problem, replace } from './dom.js';
import { tree } from './json.js';
import { resource } from './result.js';

export function skillPanel(place, server, skill, { chosen }) {
  const path = `servers/${api.segments(server)}/skills`;
  const issues = element('div', { role: 'status' });
  const files = div();
  const summary = element('p', { role: 'status' });
  const shown = div();
  append(place, element('div', { class: 'card' }, h4('Front matter'), tree(skill.frontmatter ?? {}), issues, files, summary, shown));
  let closed = false;

  async function check() {
    const entry = await attempt(issues, () => api.post(`${path}/check`, { skill }));
    if (!entry || closed) return;
    replace(issues, entry.problem && problem({ code: 'invalid', message: entry.problem, hint: 'A host must not load this skill.' }),
      entry.current && problem({ code: 'different', message: entry.current }),
      entry.dynamic && p('The skill is generated: its entry lists no files, so none can be verified. ',
        element('a', { href: api.address('resources', server, skill.uri) }, 'Read its SKILL.md')),
      !entry.problem && !entry.current && element('p', { class: 'good' }, 'Its entry is well formed.'));
    const rows = entry.files.map(file => row(file, entry.problem));
    if (rows.length === 0) return;
    replace(files, h4(`Files (${rows.length})`), !entry.problem && button('Verify all', async () => {
      let good = 0;
      for (const row of rows) {
        if (closed) return;
        if (await row.verify()) good++;
        summary.textContent = `${good} of ${rows.length} files verified`;
      }
      summary.className = good === rows.length ? 'good' : 'bad';
    }), grid('Files', ['File', 'Size', 'Digest', 'State', 'Actions'], element('tbody', {}, rows.map(row => row.node))));
  }

  // row returns a file as a row of the table.
  function row(file, invalid) {
    const state = element('td', { 'aria-live': 'polite' }, 'not verified');
    // read returns the file if it matches the entry.
    const read = async () => {
      try {
        const content = await api.post(`${path}/file`, { skill, uri: file.uri });
        replace(state, element('span', { class: 'good' }, 'verified'));
        return content;
      } catch (error) {
        replace(state, element('span', { class: 'bad' }, error.message));
        return null;
      }
    };
    const node = element('tr', {}, element('td', {}, file.path || file.uri), element('td', {}, bytes(file.size)),
      element('td', {}, element('code', { title: file.digest }, file.digest?.slice(0, 19))), state,
      element('td', {}, invalid ? '' : [button('Show', async () => {
        const content = await read();
        replace(shown, content ? resource(content, server) : element('p', { class: 'bad' }, 'The file does not match the entry and is not shown.'));
      }, { 'aria-label': `Show ${file.path}` }), button('Verify', read, { 'aria-label': `Verify ${file.path}` })]));
    return { node, verify: async () => Boolean(await read()) };
  }

  // What the page has selected by itself is checked when the user asks for it.
  let checked = false;
  const update = chosen => {
    if (checked || !chosen) return;
    checked = true;
    replace(issues);
    check();
  };
  if (!chosen) replace(issues, button('Check its entry', () => update(true), { class: 'primary' }));
  update(chosen);
  return { update, close() { closed = true; } };
}
