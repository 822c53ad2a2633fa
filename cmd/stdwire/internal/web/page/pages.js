// A list page by page, with the server's cursors.
import { answer } from './calls.js';
import { attempt, button, code, element, inRow, muted, p, replace, status, tag } from './dom.js';
import { tree } from './json.js';

// the method of each view, and the member of its result
const lists = { tools: ['tools/list', 'tools'], resources: ['resources/list', 'resources'], templates: ['resources/templates/list', 'resourceTemplates'], prompts: ['prompts/list', 'prompts'] };

// pages returns { node, update(server) } for a view; without a server it is hidden.
export function pages(view) {
	const place = status();
	const node = element('details', { hidden: true, test: 'pages' }, tag('summary', 'Page by page'), place);
	let server;
	const show = (number, cursor) => attempt(place, async () => {
		const [method, member] = lists[view];
		const mine = server;
		const result = await answer(server, method, cursor === undefined ? {} : { cursor });
		if (mine !== server) return;
		const items = result?.[member] ?? [];
		const next = result?.nextCursor;
		const row = inRow(number > 1 && button('First page', () => show(1)),
			next !== undefined && button('Next page', () => show(number + 1, next)));
		replace(place, p(`Page ${number}: ${items.length} ${view}`, cursor !== undefined && [', after the cursor ', code(String(cursor))]),
			muted(next === undefined ? 'This is the last page.' : ['The next page has the cursor ', code(String(next))]),
			row, tree(items.map(item => item.name ?? item.uri)));
		row.querySelector('button:last-child')?.focus();
	});
	return { node, update(id) {
		node.hidden = !id || !lists[view];
		if (id === server) return;
		server = id;
		replace(place, button('First page', () => show(1)));
	} };
}
