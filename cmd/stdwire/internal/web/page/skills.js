// Skills: their front matter, and their files, which are compared with the entry of the skill.
import * as api from './api.js';
import { anchor, append, attempt, button, bytes, div, element, grid, head, inRow, p, primary, problem, replace, status, tag } from './dom.js';
import { tree } from './json.js';
import { resource } from './result.js';

export function skillPanel(place, server, skill, { chosen }) {
	const path = api.of(server, 'skills');
	const issues = status();
	const files = div();
	const summary = status('p');
	const shown = div();
	append(place, tag('div.card', head('Front matter'), tree(skill.frontmatter ?? {}), inRow(issues), files, summary, shown));
	let closed = false;

	async function check() {
		const entry = await attempt(issues, () => api.post(`${path}/check`, { skill }));
		if (!entry || closed) return;
		replace(issues, entry.problem && problem({ code: 'invalid', message: entry.problem, hint: 'A host must not load this skill.' }),
			entry.current && problem({ code: 'different', message: entry.current }),
			entry.dynamic && p('The skill is generated: its entry lists no files, so none can be verified. ',
				anchor(api.address('resources', server, skill.uri), 'Read its SKILL.md')),
			!entry.problem && !entry.current && tag('p.good', 'Its entry is well formed.'));
		const rows = entry.files.map(file => row(file, entry.problem));
		if (rows.length === 0) return;
		replace(files, head(`Files (${rows.length})`), !entry.problem && button('Verify all', async () => {
			let good = 0;
			for (const row of rows) {
				if (closed) return;
				if (await row.verify()) good++;
				summary.textContent = `${good} of ${rows.length} files verified`;
			}
			summary.className = good === rows.length ? 'good' : 'bad';
		}), grid('Files', ['File', 'Size', 'Digest', 'State', 'Actions'], tag('tbody', rows.map(row => row.node))));
	}

	function row(file, invalid) {
		const state = element('td', { 'aria-live': 'polite' }, 'not verified');
		// read returns the file if it matches the entry.
		const read = async () => {
			try {
				const content = await api.post(`${path}/file`, { skill, uri: file.uri });
				replace(state, tag('span.good', 'verified'));
				return content;
			} catch (error) {
				replace(state, tag('span.bad', error.message));
				return null;
			}
		};
		const node = tag('tr', tag('td', file.path || file.uri), tag('td', bytes(file.size)),
			tag('td', element('code', { title: file.digest }, file.digest?.slice(0, 19))), state,
			tag('td', invalid ? '' : [button('Show', async () => {
				const content = await read();
				replace(shown, content ? resource(content, server) : tag('p.bad', 'The file does not match the entry and is not shown.'));
			}, { label: `Show ${file.path}` }), button('Verify', read, { label: `Verify ${file.path}` })]));
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
	if (!chosen) replace(issues, primary('Check its entry', () => update(true)));
	update(chosen);
	return { update, close() { closed = true; } };
}
