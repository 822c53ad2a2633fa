// Saved calls with expectations: the file that stdwire test reads.
import * as api from './api.js';
import { anchor, attempt, button, code, div, download, duration, element, empty, faint, field, folded, h2, hint, input, inRow, muted, primary, replace, status, tag } from './dom.js';
import { toolLink } from './connect.js';
import { format, parse } from './json.js';

const read = async () => {
	const { path, file } = await api.exact('saved');
	return { path, calls: file.calls ?? [] };
};

const write = calls => api.post('saved', format({ calls }));

export function save(place, call) {
	const name = input('text', { value: `${call.tool} works` });
	const outcome = status();
	replace(place, inRow(field('Name of the saved call', name), button('Save', () => attempt(outcome, async () => {
		const { calls } = await read();
		await write([...calls, { name: name.value, ...call }]);
		replace(place, status('p', 'Saved: ', anchor('#/saved', 'all saved calls')));
	}))), outcome);
	name.focus();
}

export function saved(root) {
	const outcome = div();
	const list = div();
	const where = muted();
	let calls = [];
	let verdicts = []; // by the index of the call
	const all = () => run(calls.map((_, i) => i));
	const actions = inRow(primary('Run all', all), button('JUnit', async () => {
		const report = await all();
		if (report) download('junit.xml', report.junit);
	}), button('Save as', () => download('calls.json', format({ calls }) + '\n')));
	actions.hidden = true;
	replace(root, h2('Saved calls'), where, actions, outcome, list);

	async function run(indexes) {
		for (const i of indexes) verdicts[i] = null;
		show();
		const report = await attempt(outcome, () => api.post('saved/run', format({ calls: indexes.map(i => calls[i]) })));
		indexes.forEach((i, n) => { verdicts[i] = report?.outcomes[n]; });
		show();
		return report;
	}

	const change = next => attempt(outcome, async () => {
		await write(next);
		calls = next;
		verdicts = [];
		show();
	});

	function show() {
		actions.hidden = calls.length === 0;
		const failed = verdicts.filter(verdict => verdict?.failures.length > 0).length;
		replace(list, verdicts.some(Boolean) && element('p', { class: failed ? 'outcome bad' : 'outcome good', role: 'status' },
			failed ? `${failed} of ${calls.length} not as expected` : 'All as expected'),
		calls.length === 0 && empty('No saved calls', 'A saved call is run again with what you expect of it, here and by stdwire test. Save one in the panel of a tool.', 'Tools'),
		calls.map(row));
	}

	function row(call, i) {
		const verdict = verdicts[i];
		const text = element('textarea.json', { rows: '10', value: format(call), label: `${call.name}, as JSON` });
		const errors = div();
		const apply = () => attempt(errors, async () => {
			let next;
			try {
				next = parse(text.value);
			} catch (error) {
				throw new api.Problem({ code: 'invalid', message: `This is not JSON: ${error.message}` });
			}
			await write(calls.with(i, next));
			calls = calls.with(i, next);
			verdicts[i] = undefined;
			show();
		});
		return tag('section.card', tag('div.row',
			element('strong', { class: verdict ? verdict.failures.length ? 'bad' : 'good' : '' }, verdict ? verdict.failures.length ? '✗ ' : '✓ ' : verdict === null ? '… ' : '', call.name),
			faint(`${call.server ?? ''} ${call.tool ?? call.method} ${verdict ? duration(verdict.ms) : ''}`),
			button('Run', () => run([i]), { class: 'push', label: `Run ${call.name}` }),
			call.tool && element('a.button', { href: toolLink(call.server ?? '', call.tool, format(call.arguments ?? {})) }, 'Open'),
			button('Remove', () => change(calls.toSpliced(i, 1)), { class: 'bad', label: `Remove ${call.name}` })),
		verdict?.failures.map(failure => tag('p.bad', failure)),
		folded('Expectations',
			hint('"expect": {"values": {"/structuredContent/n": 1}, "schema": {…}, "error": -32602 or "isError", "within": "2s"}'),
			text, errors, button('Apply', apply)));
	}

	attempt(outcome, async () => {
		const file = await read();
		calls = file.calls;
		replace(where, 'The calls are in ', code(file.path), '; ', code('stdwire test'), ' runs them without the page.');
		show();
	});
	return {};
}
